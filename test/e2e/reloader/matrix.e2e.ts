import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LAST_RELOADED_FROM, RECORD } from '../../../src/api/annotations.ts';
import { type KindName, WORKLOAD_KINDS } from '../../../src/api/kinds.ts';
import { CONFIG_MAPS, SECRETS } from '../../../src/api/resources.ts';
import { connect } from '../../../src/kube/auth/connection.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { Audit, templateIn } from '../../support/audit.ts';
import { stage } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { type AnyObject, controlPlane } from '../../support/sandbox.ts';
import { dataOf, kindRow, type SourceName, sha1, sourceObject, variable, workload } from '../../support/workloads.ts';
import { CASES, type Case, container, GROUPS, type Group, optionsOf, rolls } from './matrix-cases.ts';
import { Fence, marksOf } from './moves.ts';

const BEFORE = { greeting: 'hello', 'a-b': '1', a: '2' };
const AFTER = { ...BEFORE, greeting: 'good bye; a=3' };
const HASH = sha1(AFTER);
const KINDS = WORKLOAD_KINDS.map(({ kind }) => kind);

const client = new KubeClient(await connect({ kubeconfig: controlPlane().kubeconfig, env: {} }), { maxSockets: 16 });
afterAll(() => client.close());

const resourceOf = ({ kind }: SourceName) => (kind === 'Secret' ? SECRETS : CONFIG_MAPS);

/** Everything is created, then the controller starts, then every source changes: all that counts is in the audit. */
async function play(group: Group, rest: AsyncDisposableStack) {
  const here = rest.use(await stage());
  const audit = rest.use(await Audit.of(here.space, KINDS));
  const fence = await Fence.in(here.space, audit);
  await Promise.all(
    CASES.map(async (each) => {
      const { kind, name } = each.source;
      await client.create(resourceOf(each.source), here.space, sourceObject(kind, name, BEFORE));
      await client.create(kindRow(each.kind), here.space, workload(each.kind, each.name, optionsOf(each)));
    }),
  );
  const first = new Map<string, AnyObject>();
  for (const { kind, name } of CASES) {
    first.set(name, await audit.until(`${name} being there`, () => audit.latest(kind, name)));
  }
  const mode = group.compat ? '--compat=stakater' : '--quiet-period=50ms';
  rest.use(await here.start([mode, `--reload-strategy=${group.strategy}`, '--is-Argo-Rollouts=true']));
  const since = Math.floor(Date.now() / 1000);
  await Promise.all(
    CASES.map(({ source }) => {
      const ref = { namespace: here.space, name: source.name };
      return client.patch(resourceOf(source), ref, dataOf(source.kind, AFTER), { type: 'merge' });
    }),
  );
  const outcome = (each: Case) => outcomeOf(audit, each, first.get(each.name));
  for (const each of CASES.filter((one) => rolls(one, group))) {
    await audit.until(`${each.name} reloaded`, () => outcome(each)).catch(() => {});
  }
  await fence.pass();
  return { audit, space: here.space, since, outcome, first: (each: Case) => first.get(each.name) as AnyObject };
}

/** Where a reload of the case shows, once it has happened. */
function outcomeOf(audit: Audit, { kind, name }: Case, first: AnyObject | undefined): AnyObject | undefined {
  if (kind === 'CronJob') return jobsOf(audit, name)[0];
  const now = audit.latest(kind, name);
  if (kind === 'Job') return now && now.metadata.uid !== first?.metadata.uid ? now : undefined;
  return now && audit.templates(kind, name).length > 1 ? now : undefined;
}

function jobsOf(audit: Audit, cronJob: string): readonly AnyObject[] {
  return audit
    .all('Job')
    .filter(({ metadata }) => (metadata as unknown as Owned).ownerReferences?.some(({ name }) => name === cronJob));
}

interface Owned {
  readonly ownerReferences?: readonly { readonly name: string }[];
  readonly managedFields: readonly { readonly manager: string; readonly fieldsV1: object }[];
}

/** Annotations, less those in which controllers and server count rollouts. */
function withoutCounters({ metadata }: AnyObject): Record<string, string> {
  const counters = ['deployment.kubernetes.io/revision', 'deprecated.daemonset.template.generation'];
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => !counters.includes(key)));
}

/** A created Job shows the pod template as a Job does. */
const shape = (kind: KindName): KindName => (kind === 'CronJob' ? 'Job' : kind);

/** A pod template without what the reload or the Job controller put into it. */
function bare(kind: KindName, object: AnyObject) {
  const { containers, ...spec } = templateIn(kind, object)['spec'];
  const { annotations = {} } = templateIn(kind, object).metadata;
  const { [LAST_RELOADED_FROM]: _, ...foreign } = annotations;
  const unmarked = containers.map(({ env = [], ...fields }: { env?: readonly { name: string }[] }) => {
    return { ...fields, env: env.filter(({ name }) => !name.startsWith('STAKATER_')) };
  });
  return { ...spec, containers: unmarked, annotations: foreign };
}

const titled = (wanted: (each: Case) => boolean) => CASES.filter(wanted).map((each) => [each.name, each] as const);

describe.each(GROUPS)('2. compat: $compat, $strategy', (group) => {
  const rest = new AsyncDisposableStack();
  let scene: Awaited<ReturnType<typeof play>>;
  beforeAll(async () => {
    await installKinds(['Rollout', 'DeploymentConfig']);
    scene = await play(group, rest);
  });
  afterAll(() => rest.disposeAsync());

  test.each(titled((each) => rolls(each, group)))('%s', (_, each) => {
    const { kind, name, source } = each;
    const reloaded = scene.outcome(each);
    if (!reloaded) throw new Error('it was not reloaded');
    const template = templateIn(shape(kind), reloaded);
    const variableName = variable(source.kind, name);
    const place = container(each);
    const { managedFields } = reloaded.metadata as unknown as Owned;
    const owned = JSON.stringify(managedFields.find(({ manager }) => manager === 'Reloader')?.fieldsV1 ?? {});

    if (group.strategy === 'env-vars') {
      expect(marksOf(shape(kind), reloaded)).toEqual({ [`${place}/${variableName}`]: HASH });
      expect(template.metadata.annotations).toBeUndefined();
      // A definition that says nothing about containers makes them one field.
      expect(owned).toContain(kind === 'DeploymentConfig' ? 'f:containers' : variableName);
    } else {
      const text = template.metadata.annotations?.[LAST_RELOADED_FROM] ?? '';
      const { observedAt } = JSON.parse(text);
      expect(text).toBe(
        `{"type":"${source.kind.toUpperCase()}","name":"${name}","namespace":"${scene.space}","hash":"${HASH}",` +
          `"containerRefs":["${place}"],"observedAt":${observedAt}}`,
      );
      expect(observedAt).toBeGreaterThanOrEqual(scene.since);
      expect(marksOf(shape(kind), reloaded)).toEqual({});
      expect(owned).toContain(LAST_RELOADED_FROM);
    }
    expect(bare(shape(kind), reloaded)).toEqual(bare(kind, scene.first(each)));
    if (kind === 'CronJob') expectOneRun(each, reloaded);
    else if (kind !== 'Job') expectOneRollout(each, reloaded);
  });

  test.each(titled((each) => !rolls(each, group)))('%s is left alone', (_, each) => {
    expect(scene.outcome(each)).toBeUndefined();
    expect(scene.audit.latest(each.kind, each.name)?.['spec']).toEqual(scene.first(each)['spec']);
  });

  function expectOneRun(each: Case, job: AnyObject): void {
    const before = scene.first(each);
    const after = scene.audit.latest('CronJob', each.name);
    expect(jobsOf(scene.audit, each.name)).toHaveLength(1);
    expect(job.metadata.name.startsWith(`${each.name}-`)).toBe(true);
    const { [RECORD]: record, ...annotations } = job.metadata.annotations ?? {};
    expect(annotations).toEqual({ 'cronjob.kubernetes.io/instantiate': 'manual' });
    expectRecord(each, record);
    const { uid } = before.metadata;
    const controlled = { controller: true, blockOwnerDeletion: true };
    expect((job.metadata as unknown as Owned).ownerReferences).toEqual([
      { apiVersion: 'batch/v1', kind: 'CronJob', name: each.name, uid, ...controlled },
    ]);
    expect(after?.metadata.generation).toBe(before.metadata.generation);
    expect(after?.['spec']).toEqual(before['spec']);
    expect(after?.metadata.annotations).toEqual(before.metadata.annotations);
  }

  function expectOneRollout(each: Case, reloaded: AnyObject): void {
    expect(scene.audit.templates(each.kind, each.name)).toHaveLength(2);
    const { [RECORD]: record, ...annotations } = withoutCounters(reloaded);
    expect(annotations).toEqual(withoutCounters(scene.first(each)));
    expectRecord(each, record);
  }

  function expectRecord(each: Case, record: string | undefined): void {
    if (group.compat) expect(record).toBeUndefined();
    else expect(JSON.parse(record ?? '{}').sources).toHaveProperty([`${each.source.kind}/${each.name}`]);
  }
});
