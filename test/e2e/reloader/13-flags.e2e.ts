import { describe, expect, test } from 'vitest';
import { stage } from '../../support/controller.ts';
import { marksOf, untilMarked } from './moves.ts';
import { DEFAULT, MODES, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };

describe('13. what is refused ends with 1, a message and the usage', () => {
  test.each([
    ['a strategy that does not exist', ['--reload-strategy=restart'], /reload-strategy.*env-vars.*annotations/],
    ['HA without a name', ['--enable-ha'], /POD_NAME/],
    ['two types to ignore', ['--resources-to-ignore=configmaps,secrets'], /resources-to-ignore/],
    ['the same type twice', ['--resources-to-ignore=secrets', '--resources-to-ignore=secrets'], /resources-to-ignore/],
    ['an unknown type to ignore', ['--resources-to-ignore=pods'], /resources-to-ignore.*pods/],
    ['a flag of string type without its text', ['--reload-on-create'], /reload-on-create/],
    ['an unknown flag, with the nearest one', ['--is-argo-rollouts=true'], /is-argo-rollouts.*is-Argo-Rollouts/s],
    ['a selector that is none', ['--namespace-selector=a in ('], /namespace-selector/],
    ['a duration that is none', ['--quiet-period=soon'], /quiet-period.*soon/],
  ])('%s', async (_, flags, message) => {
    await using here = await stage();
    await using attune = await here.start(flags, { untilReady: false });
    expect(await attune.ended).toBe(1);
    const text = attune.lines.join('\n');
    expect(text).toMatch(message);
    expect(text).toContain('Usage:');
  });

  test('all problems at once', async () => {
    await using here = await stage();
    const flags = ['--reload-strategy=x', '--quiet-period=y', '--no-such-flag'];
    await using attune = await here.start(flags, { untilReady: false });
    expect(await attune.ended).toBe(1);
    expect(attune.lines.filter((line) => line.startsWith('Error: '))).toHaveLength(3);
  });

  test('--help explains and ends with 0', async () => {
    await using here = await stage();
    await using attune = await here.start(['--help'], { untilReady: false });
    expect(await attune.ended).toBe(0);
    expect(attune.lines.join('\n')).toContain('--reload-strategy');
  });
});

describe.each(MODES)('13. what is tolerated: %s', (mode) => {
  test('an unknown workload type: the whole list counts as empty', async () => {
    await using here = await scene(['CronJob', 'Job']);
    await here.createSource('ConfigMap', 'app', V1);
    const pod = { containers: [{ name: 'app', image: 'app', envFrom: [{ configMapRef: { name: 'app' } }] }] };
    await here.create('CronJob', 'nightly', { annotations: { 'reloader.stakater.com/auto': 'true' }, pod });
    const attune = await here.start([mode, '--ignored-workload-types=cronjobs,pods']);
    await attune.untilLine(/ignored-workload-types.*pods/);
    await here.setData('ConfigMap', 'app', V2);
    await here.audit.until('a Job', () => here.audit.all('Job').length === 1);
  });

  test.each(['True', '1'])('--reload-on-create=%s has no effect, and that is said', async (value) => {
    await using here = await scene();
    await here.createUser('web', 'app');
    const attune = await here.start([mode, `--reload-on-create=${value}`]);
    await attune.untilLine(/reload-on-create.*exact word true/);
    await here.createSource('ConfigMap', 'app', V1);
    await here.fence.pass();
    expect(marksOf('Deployment', here.audit.latest('Deployment', 'web'))).toEqual({});
  });

  test('a log format that does not exist', async () => {
    await using here = await scene();
    const attune = await here.start([mode, '--log-format=JSON', '--log-level=error']);
    await attune.untilLine(/level=warning.*unknown log format.*JSON/);
    // The level is not applied then: Stakater's.
    await attune.untilLine(/Starting Reloader/);
  });

  test('arguments without a flag, and a subcommand', async () => {
    await using here = await scene();
    await here.createSource('ConfigMap', 'app', V1);
    await here.createUser('web', 'app');
    const attune = await here.start([mode, 'whatever', '--log-format', 'json']);
    await here.setData('ConfigMap', 'app', V2);
    await untilMarked(here.audit, 'Deployment', 'web', V2);
    const line = await attune.untilLine(/updated 'web'/);
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      msg: `Changes detected in 'app' of type 'CONFIGMAP' in namespace '${here.space}'; updated 'web' of type 'Deployment' in namespace '${here.space}'`,
    });
  });
});

test('13. the compat mode can also be asked for by the environment', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  await here.start([DEFAULT], { env: { ATTUNE_COMPAT: 'stakater' } });
  await here.setData('ConfigMap', 'app', V2);
  const web = await untilMarked(here.audit, 'Deployment', 'web', V2);
  expect(web.metadata.annotations).not.toHaveProperty(['attune.dev/record']);
});
