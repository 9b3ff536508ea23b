import { describe, expect, it, onTestFinished } from 'vitest';
import { parseSettings } from '../../../src/config/parse-settings.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { CHART, containerOf, helm, type Manifest, only, refusal, render, type Values } from './helm.ts';

const configs = (reloaderConfig: Values, reloader: Values = {}): Values => ({ attune: { reloaderConfig }, reloader });

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const ON = ['namespaces list,watch', 'reloaderconfigs list,watch', 'reloaderconfigs/status patch'];
const SCOPED = ON.slice(1);
const RESTART = ['pods list,watch', 'pods/eviction create', 'replicasets list'];

/** What the program may do by a role of this kind, as far as it is because of ReloaderConfigs. */
function rightsIn(manifests: readonly Manifest[], kind: string): readonly string[] {
  const rules: readonly Rule[] = only(manifests, kind, 'shop-attune-role')['rules'];
  const all = rules.flatMap(({ resources, verbs }) => resources.map((each) => `${each} ${verbs.join()}`));
  return all.filter((right) => /^(reloaderconfigs|namespaces|pods|replica)/.test(right)).sort();
}

describe('the rights that ReloaderConfigs take', () => {
  it.each<[string, Values, readonly string[]]>([
    ['by default', {}, ON],
    ['switched off', configs({ enabled: false }), []],
    ['switched off by a word', configs({ enabled: 'false', restart: true }), []],
    ['with values of a chart that had none', { attune: { reloaderConfig: null } }, ON],
    [
      'switched off, while labels choose namespaces',
      configs({ enabled: false }, { namespaceSelector: 'a' }),
      [ON[0] ?? ''],
    ],
    ['while labels choose namespaces', configs({}, { namespaceSelector: 'a' }), ON],
    ['to restart', configs({ restart: true }), [...ON, ...RESTART]],
    [
      'to restart what OpenShift has',
      configs({ restart: true }, { isOpenshift: true }),
      [...ON, ...RESTART, 'replicationcontrollers list'],
    ],
    ['where a webhook is called instead', configs({ restart: true }, { webhookUrl: 'http://hook' }), []],
  ])('%s', async (_, values, expected) => {
    expect(rightsIn(await render(values), 'ClusterRole')).toEqual([...expected].sort());
  });

  it('in a namespace there is none on Namespaces', async () => {
    const manifests = await render(configs({ restart: true }, { watchGlobally: false }));
    expect(rightsIn(manifests, 'Role')).toEqual([...SCOPED, ...RESTART].sort());
    expect(JSON.stringify(manifests)).not.toContain('ClusterRole');
  });
});

describe('the flags', () => {
  const argsOf = async (values: Values): Promise<readonly string[]> => containerOf(await render(values)).args;

  it('are left to the program where there is nothing to say', async () => {
    expect((await argsOf({})).join()).not.toMatch(/reloader-config|allow-reloads/);
  });

  it('switch it off, and say who allows whom', async () => {
    expect(await argsOf(configs({ enabled: false }))).toContain('--reloader-config=false');
    const args = await argsOf(configs({ allowReloads: ['shop=team', 'bank=*'] }));
    const parsed = parseSettings([...args], {});
    expect(parsed.ok && parsed.settings.allowReloads).toEqual(
      new Map([
        ['shop', new Set(['team'])],
        ['bank', new Set('*')],
      ]),
    );
  });

  it('are refused where the program would refuse them', async () => {
    for (const wrong of ['shop', 'shop=', '=team', '*=team', 'shop=Team', 'a=b=c', 'a=b,c=d']) {
      expect(await refusal(configs({ allowReloads: [wrong] }))).toContain('/attune/reloaderConfig/allowReloads/0');
      expect(parseSettings([`--allow-reloads="${wrong}"`], {}).ok).toBe(false);
    }
    expect(await refusal(configs({ restarts: true }))).toContain('restarts');
  });
});

it('values without effect are told after the installation', async () => {
  const told = async (values: Values): Promise<string> => {
    const args = ['install', 'shop', CHART, '--dry-run=server', '--kubeconfig', controlPlane().kubeconfig];
    return (await helm(args, values)).stdout;
  };
  expect(await told(configs({ enabled: false, restart: true }))).toContain('attune.reloaderConfig.enabled is false');
  expect(await told(configs({ allowReloads: ['a=b'] }, { webhookUrl: 'http://hook' }))).toContain('replaces reloading');
  const scoped = { watchGlobally: false, namespaces: ['shop'] };
  expect(await told(configs({ allowReloads: ['shop=*', 'shop=team'] }, scoped))).toContain(
    'allowReloads has shop=team, but team is not watched',
  );
  const fine = await told(configs({ restart: true, allowReloads: ['shop=team'] }));
  expect(fine).not.toContain('PLEASE CHECK');
  expect(fine).toContain('kubectl explain reloaderconfigs.spec');
});

describe('who may look at a namespace, or change it', async () => {
  const admin = api();
  const shop = await namespace('chart-roles');
  const roles = '/apis/rbac.authorization.k8s.io/v1';

  /** Whether somebody with this role in the namespace may do it. */
  async function mayDo(role: string, verb: string, where: { namespace?: string; subresource?: string } = {}) {
    const user = `${shop}-${role}`;
    const attributes = { namespace: shop, group: 'reloader.stakater.com', resource: 'reloaderconfigs' };
    const review = { spec: { user, resourceAttributes: { ...attributes, verb, ...where } } };
    const { status } = (await admin.create(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      review,
    )) as unknown as {
      readonly status: { readonly allowed: boolean };
    };
    return status.allowed;
  }

  it('may do the same with its ReloaderConfigs, but not write their status', async () => {
    const granting = (await render({}, shop)).filter(
      ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name.includes('reloaderconfigs'),
    );
    for (const role of granting) {
      await admin.create(`${roles}/clusterroles`, role);
      onTestFinished(async () => void (await admin.delete(`${roles}/clusterroles/${role.metadata.name}`)));
    }
    for (const role of ['view', 'edit', 'admin']) {
      await admin.create(`${roles}/namespaces/${shop}/rolebindings`, {
        metadata: { name: role },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `${shop}-${role}` }],
      });
    }
    // A controller puts the roles together.
    for (const [role, verb] of [
      ['view', 'watch'],
      ['edit', 'create'],
      ['admin', 'delete'],
    ] as const) {
      await until(() => mayDo(role, verb), { what: `${role} being granted ${verb}` });
    }
    expect(await mayDo('edit', 'list')).toBe(true);
    expect(await mayDo('view', 'create')).toBe(false);
    expect(await mayDo('admin', 'patch', { subresource: 'status' })).toBe(false);
    expect(await mayDo('admin', 'get', { namespace: 'default' })).toBe(false);
  });

  it('gets nothing where they are not followed, or nothing outside of namespaces is written', async () => {
    for (const values of [configs({ enabled: false }), configs({}, { watchGlobally: false })]) {
      expect(JSON.stringify(await render(values))).not.toContain('aggregate-to');
    }
  });
});
