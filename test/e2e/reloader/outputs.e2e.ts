import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { LAST_RELOADED_FROM } from '../../../src/api/annotations.ts';
import type { AnyObject } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { podUsing, sha1 } from '../../support/workloads.ts';
import { AUTO, untilMarked } from './moves.ts';
import { receiver } from './receiver.ts';
import { COMPAT, DEFAULT, MODES, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };

const reloadedEvents = (events: readonly AnyObject[], name: string) =>
  events.filter((event) => event['reason'] === 'Reloaded' && event['involvedObject'].name === name);

test.each(MODES)(
  '13.1 a Reloaded Event on the workload, with the words and the component of Stakater: %s',
  async (mode) => {
    await using here = await scene(['Event', 'CronJob', 'Job']);
    await here.createSource('Secret', 'app', V1);
    const pod = podUsing({ kind: 'Secret', name: 'app' }, 'volume');
    const workloads = [
      ['Deployment', 'web'],
      ['CronJob', 'nightly'],
      ['Job', 'once'],
    ] as const;
    const uids = new Map<string, string>();
    for (const [kind, name] of workloads) {
      uids.set(name, (await here.create(kind, name, { annotations: AUTO, pod })).metadata.uid);
    }
    await here.start([mode]);
    const uidNow = (kind: 'Deployment' | 'CronJob' | 'Job', name: string) =>
      here.audit.latest(kind, name)?.metadata.uid;
    const ran = () => here.audit.all('Job').find(({ metadata }) => metadata.name.startsWith('nightly-'))?.metadata.name;
    const more = (kind: string) => {
      if (kind === 'CronJob') return `: created Job '${ran()}'`;
      return kind === 'Job' ? ': deleted and created again' : '';
    };
    await here.setData('Secret', 'app', V2);
    await here.audit.until('a Job of the CronJob', () => ran() !== undefined);
    await here.audit.until('another Job', () => ![undefined, uids.get('once')].includes(uidNow('Job', 'once')));
    for (const [kind, name] of workloads) {
      const event = await here.audit.until(
        `the Event of ${name}`,
        () => reloadedEvents(here.audit.all('Event'), name)[0],
      );
      expect(event).toMatchObject({
        type: 'Normal',
        source: { component: 'reloader-secrets' },
        // Of a replaced Job Stakater names the old one, and nobody finds that.
        involvedObject: {
          kind,
          name,
          namespace: here.space,
          uid: mode === COMPAT ? uids.get(name) : uidNow(kind, name),
        },
        message:
          `Changes detected in 'app' of type 'SECRET' in namespace '${here.space}', ` +
          `Updated '${name}' of type '${kind}' in namespace '${here.space}'${mode === COMPAT ? '' : more(kind)}`,
      });
    }
    expect(JSON.stringify(here.audit.all('Event'))).not.toContain(Buffer.from(V2.value).toString('base64'));
  },
);

test('13.1 a batch: one Event, one line and one alert that name its sources, the last source on the mark', async () => {
  await using here = await scene(['Event']);
  await using there = await receiver();
  const names = ['one', 'two', 'three'];
  for (const name of names) await here.createSource('ConfigMap', name, V1);
  const envFrom = names.map((name) => ({ configMapRef: { name } }));
  await here.create('Deployment', 'web', {
    annotations: AUTO,
    pod: { containers: [{ name: 'app', image: 'app', envFrom }] },
  });
  const env = { ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL: there.url };
  const attune = await here.start(['--quiet-period=5s', '--reload-strategy=annotations'], { env });
  for (const name of names) await here.setData('ConfigMap', name, V2);
  const web = await untilMarked(here.audit, 'Deployment', 'web', V2);
  await there.untilReceived(1);
  await attune.untilLine(/updated 'web'/);
  expect(attune.lines.filter((line) => line.includes("updated 'web'"))).toHaveLength(1);
  // Its Events are sent before it ends.
  expect(await attune.metric('reloader_reload_executed_total', { success: 'true' })).toBe(1);
  expect(await attune.stop()).toBe(0);
  const list = `ConfigMap ${names.join(', ')}`;
  const message =
    `Changes detected in ${list} in namespace '${here.space}', ` +
    `Updated 'web' of type 'Deployment' in namespace '${here.space}'`;
  await here.audit.until('the Event', () => reloadedEvents(here.audit.all('Event'), 'web').length > 0);
  expect(reloadedEvents(here.audit.all('Event'), 'web')).toMatchObject([{ message, count: 1 }]);
  expect(there.received.map(({ body }) => /changes in (.*) in namespace \S+\. /.exec(body)?.[1])).toEqual([list]);
  const mark = JSON.parse(web['spec'].template.metadata.annotations[LAST_RELOADED_FROM]);
  expect(mark).toMatchObject({ name: 'three', hash: sha1(V2) });
  expect(here.audit.templates('Deployment', 'web')).toHaveLength(2);
});

// 1500 rollouts are a lot for a busy machine.
test('13.1 many rollouts: each has its Event, and none is dropped', { timeout: 400_000 }, async () => {
  await using here = await scene(['Event']);
  const names = Array.from({ length: 500 }, (_, n) => `many-${n}`);
  await here.createSource('ConfigMap', 'app', { value: '0' });
  // Not all at once: each is a connection of its own, and has a deadline.
  for (let at = 0; at < names.length; at += 50) {
    await Promise.all(names.slice(at, at + 50).map((name) => here.createUser(name, 'app')));
  }
  const attune = await here.start(['--quiet-period=0']);
  const rounds = ['1', '2', '3'];
  for (const value of rounds) {
    await here.setData('ConfigMap', 'app', { value });
    for (const name of names) await untilMarked(here.audit, 'Deployment', name, { value });
  }
  const told = (name: string): number =>
    reloadedEvents(here.audit.all('Event'), name).reduce((sum, event) => sum + event['count'], 0);
  await here.audit.until('an Event for each', () => names.every((name) => told(name) >= rounds.length), 120_000);
  expect(names.filter((name) => told(name) !== rounds.length)).toEqual([]);
  const posts = (result: string) => attune.metric('attune_event_posts_total', { result });
  await until(async () => (await posts('success')) === names.length * rounds.length, { what: 'all counted' });
  expect([await posts('dropped'), await posts('error')]).toEqual([0, 0]);
});

test('13.5 a port that is taken: said, tried again, and reloads go on', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const host = '127.63.90.90';
  const squatter = createServer();
  await new Promise<void>((resolve) => {
    squatter.listen(9090, host, resolve);
  });
  const env = { ATTUNE_LISTEN_ADDRESS: host };
  const attune = await here.start([DEFAULT], { env, untilReady: false });
  await attune.untilLine(/the port is taken by another process/);
  await attune.untilLine(/Attune is ready/);
  await here.setData('ConfigMap', 'app', V2);
  await untilMarked(here.audit, 'Deployment', 'web', V2);
  await new Promise((resolve) => {
    squatter.close(resolve);
  });
  const ready = async () => (await fetch(`http://${host}:9090/readyz`)).ok;
  await until(ready, { what: 'the port taken over' });
});

test('13.6 who uses a source and did not ask is named, with the reason and the one line that would change it', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('silent', 'app', { annotations: {} });
  const attune = await here.start([DEFAULT]);
  await here.setData('ConfigMap', 'app', V2);
  const line = await attune.untilLine(/silent will not roll/);
  expect(line).toContain('reason=not-asked');
  expect(line).toContain('reloader.stakater.com/auto');
});
