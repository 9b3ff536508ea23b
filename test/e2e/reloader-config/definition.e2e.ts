import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { crd } from '../../../src/api/reloader-config/crd.ts';
import { prunedFields } from '../../../src/api/reloader-config/pruned-fields.ts';
import { SPEC } from '../../../src/api/reloader-config/spec-fields.ts';
import { type ReloaderConfigStatus, STATUS } from '../../../src/api/reloader-config/status-fields.ts';
import { RELOADER_CONFIGS } from '../../../src/api/resources.ts';
import { rowsOf } from '../../../src/api/schema/field.ts';
import { environment } from '../../../src/config/load.ts';
import { findBinaries } from '../../../src/sandbox/binaries/binaries.ts';
import { configExamples } from '../../support/config-examples.ts';
import { installKinds } from '../../support/crds.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { olderDefinition } from '../../support/older-definition.ts';
import { acceptedSpecs } from '../../support/random-configs.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';

const { group, version, plural, kind } = RELOADER_CONFIGS;
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const client = kubeClient();
let configs: string;
let space: string;

beforeAll(async () => {
  [space] = await Promise.all([namespace('definition'), installKinds(['ReloaderConfig'])]);
  configs = `/apis/${group}/${version}/namespaces/${space}/${plural}`;
});

const object = (name: string, spec: object) => ({ apiVersion: `${group}/${version}`, kind, metadata: { name }, spec });

/** What the server would store; it refuses fields that it does not know. */
async function stored(given: object): Promise<unknown> {
  return (await api().create(`${configs}?dryRun=All&fieldValidation=Strict`, given))['spec'];
}

describe('the API server accepts', () => {
  it.concurrent.each(configExamples().map((example) => [example.metadata.name, example] as const))(
    'the example %s of the documentation',
    async (_, example) => {
      expect(await stored(example)).toEqual(example.spec);
    },
  );

  it('whatever the old definition accepts, as it is: nothing is dropped, nothing is set', async () => {
    await fc.assert(
      fc.asyncProperty(acceptedSpecs, async (spec) => {
        expect(await stored(object('random', spec))).toEqual(spec);
      }),
      { numRuns: rounds(100, 1000) },
    );
  });

  it('every field of the status', async () => {
    const name = 'status';
    await api().create(configs, object(name, {}));
    const at = '2026-01-31T12:00:00Z';
    const words = { observedGeneration: 1, lastTransitionTime: at, reason: 'Reconciled', message: '' };
    const status: Required<ReloaderConfigStatus> = {
      conditions: ['Available', 'Progressing', 'Degraded'].map((type) => ({ type, status: 'True', ...words })),
      observedGeneration: 1,
      reloadCount: 7,
      lastReloadTime: at,
      watchedResourceHashes: { 'shop/Secret/db': 'k1:abc' },
      watchedResourceCount: 1,
      targetStatus: ['web', 'web'].map((target) => ({
        kind: 'Deployment',
        name: target,
        namespace: space,
        lastReloadTime: at,
        reloadCount: 7,
        pausedUntil: at,
        lastError: 'refused',
        reloadStrategy: 'env-vars',
        rolloutStrategy: 'restart',
        decidedBy: 'ReloaderConfig shop/older',
        restart: { pods: 5, left: 3, message: 'a disruption budget allows no eviction' },
      })),
      targetCount: 2,
    };
    for (const { path } of rowsOf('status', STATUS).slice(1)) {
      expect(JSON.stringify(status), path).toContain(`"${path.slice(path.lastIndexOf('.') + 1)}":`);
    }
    const { spec: _, ...applied } = { ...object(name, {}), status };
    const written = await client.patch<{ readonly status: unknown }>(
      RELOADER_CONFIGS,
      { namespace: space, name },
      applied,
      { type: 'apply', subresource: 'status', fieldManager: 'attune', force: true },
    );
    expect(written.status).toEqual(status);
  });
});

describe('kubectl', () => {
  const kubectl = async (...words: readonly string[]): Promise<string> => {
    const { kubectl: file } = await findBinaries(['kubectl'], { env: environment() }, () => {});
    const { stdout } = await promisify(execFile)(file, ['--kubeconfig', controlPlane().kubeconfig, ...words]);
    return stdout.replace(/\s+/g, ' ');
  };

  it('explains each field', async () => {
    const explained = await until(() => kubectl('explain', 'rlc', '--recursive'), { what: 'the schema being served' });
    for (const { path } of rowsOf('spec', SPEC)) expect(explained).toContain(path.slice(path.lastIndexOf('.') + 1));
    expect(await kubectl('explain', 'rlc.spec.targets.pausePeriod')).toContain('A duration like 5m or 1h30m.');
  });

  it('shows how each one is, and with -o wide what is wrong', async () => {
    const name = 'shown';
    await api().create(configs, object(name, { reloadStrategy: 'annotations', rolloutStrategy: 'restart' }));
    const lastTransitionTime = '2026-01-31T12:00:00Z';
    const conditions = [
      { type: 'Available', status: 'True', reason: 'Reconciled', message: '', lastTransitionTime },
      { type: 'Degraded', status: 'True', reason: 'InvalidSpec', message: 'spec.targets[0]: …', lastTransitionTime },
    ];
    const status: ReloaderConfigStatus = { conditions, targetCount: 12, reloadCount: 3 };
    await api().patch(`${configs}/${name}/status`, { status });
    const plain = await kubectl('get', 'rlc', name, '-n', space);
    expect(plain).toMatch(/^NAME STRATEGY TARGETS RELOADS LAST RELOAD AVAILABLE AGE shown annotations 12 3 True /);
    expect(await kubectl('get', 'rlc', name, '-n', space, '-o', 'wide')).toMatch(
      /AGE ROLLOUT DEGRADED REASON MESSAGE .* restart True InvalidSpec spec\.targets\[0\]: …/,
    );
  });
});

describe('fields that the installed definition drops', () => {
  it('none of ours', async () => {
    const served = () => client.openApi(group, version);
    await until(async () => JSON.stringify(await served()).includes(kind), { what: 'the schema being published' });
    expect(prunedFields(await served())).toEqual([]);
  });

  it('the new ones where an older one is installed', async () => {
    // Under another group, because others need theirs; in the document it gets its own name back.
    const other = `${space}.example.com`;
    const { spec, ...older } = olderDefinition();
    await api().create(DEFINITIONS, {
      ...older,
      metadata: { name: `${plural}.${other}` },
      spec: { ...spec, group: other, names: { ...spec.names, shortNames: [] } },
    });
    try {
      const text = await until(
        async () => {
          const document = JSON.stringify(await client.openApi(other, version));
          return document.includes('x-kubernetes-group-version-kind') && document;
        },
        { what: 'the older schema being published' },
      );
      const isNew = [...rowsOf('spec', SPEC), ...rowsOf('status', STATUS)].flatMap(({ path, field }) =>
        field.isNew ? path : [],
      );
      expect(prunedFields(JSON.parse(text.replaceAll(other, group)))).toEqual(isNew);
    } finally {
      await api().delete(`${DEFINITIONS}/${plural}.${other}`);
    }
  });
});

it('the definition of the program is the one that is served', async () => {
  const { spec } = await api().get(`${DEFINITIONS}/${crd().metadata.name}`);
  expect(spec['versions'][0].schema).toEqual(crd().spec.versions[0].schema);
});
