import { describe, expect, it } from 'vitest';
import { listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { settings } from '../../../test/support/settings.ts';
import { readRequest } from '../request.ts';
import { rulings } from './ruling-settings.ts';

interface World {
  /** attune-info by namespace; the data as it stands there. */
  readonly infos?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Flags of Deployments, by namespace/name. */
  readonly deployed?: Readonly<Record<string, readonly string[]>>;
  /** Whether all namespaces may be listed; else by name only. */
  readonly mayList?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
}

const INFO = { version: '0.1.0', mode: 'default', identity: 'attune-5d9-x', publishedAt: '2030-01-31T12:00:04Z' };
const info = (namespace: string, data: Readonly<Record<string, string>>) => ({
  metadata: { name: 'attune-info', namespace, uid: namespace, resourceVersion: '1' },
  data: { ...INFO, ...data },
});
const deployment = (key: string, args: readonly string[]) => {
  const [namespace, name] = key.split('/');
  const containers = [{ name: 'attune', image: 'example/attune:1', args }];
  return {
    metadata: { namespace, name, uid: key, resourceVersion: '1' },
    spec: { template: { spec: { containers } } },
  };
};

/** What the server gives for each path. */
function answers({ infos = {}, deployed = {}, mayList = true, labels }: World): Readonly<Record<string, object>> {
  const told = Object.entries(infos).map(([namespace, data]) => info(namespace, data));
  const running = Object.entries(deployed).map(([key, args]) => deployment(key, args));
  return Object.fromEntries([
    ...told.map((each) => [`/api/v1/namespaces/${each.metadata.namespace}/configmaps/attune-info`, each]),
    ...(labels ? [['/api/v1/namespaces/shop', { metadata: { name: 'shop', labels } }]] : []),
    ...(mayList ? [['/api/v1/configmaps', listOf(told, '1')]] : []),
    ...(mayList ? [['/apis/apps/v1/deployments', listOf(running, '1')]] : []),
    ...running.map((each) => [`/apis/apps/v1/namespaces/${each.metadata.namespace}/deployments`, listOf([each], '1')]),
  ]);
}

/** What rules in namespace shop, and what was asked to find it out. */
async function asked(world: World, ...argv: readonly string[]) {
  const known = answers(world);
  const { api, client } = await startClient(({ verb, path, json, status }) => {
    const answer = known[path];
    if (answer) json(200, answer);
    else if (world.mayList === false) status(403, 'Forbidden');
    else if (verb === 'list') json(200, listOf([], '1'));
    else status(404, 'NotFound');
  });
  const request = readRequest(argv, [{ name: 'attune-namespace' }]);
  const cluster = { client, request, settings: settings(request.controller), namespace: 'shop' };
  const found = await rulings(cluster, 'shop');
  return { found, first: found[0], paths: api.requests.map(({ verb, path }) => `${verb} ${path}`) };
}

describe('who may list all namespaces', () => {
  it('is judged by what a controller published, wherever it is', async () => {
    const { found } = await asked({ infos: { odd: { flags: '--auto-reload-all=true\n--reload-on-create=true' } } });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      by: 'the flags of ConfigMap odd/attune-info (Attune 0.1.0, published 2030-01-31T12:00:04Z): --auto-reload-all=true --reload-on-create=true',
      namespace: 'odd',
      settings: { autoReloadAll: true, reloadOnCreate: true, ownNamespace: 'odd' },
    });
  });

  it('text of a ConfigMap that anybody may write steers no terminal, and begins no line', async () => {
    for (const flags of ['', '--wrong\x1b[2K']) {
      const { first } = await asked({ infos: { tenant: { version: '\r\x1b[2K\x1b[32mresumed\x1b[0m', flags } } });
      expect(first.by).toContain(String.raw`\r\u001b[2K`);
      expect(first.by).not.toMatch(/\p{Cc}/u);
    }
  });

  it('no flags are the defaults, and that is said', async () => {
    const { first } = await asked({ infos: { attune: { flags: '', withheld: '' } } });
    expect(first.by).toMatch(/ConfigMap attune\/attune-info .*: all as by default$/);
  });

  it('is told of a Deployment whose flags are not understood', async () => {
    const { first } = await asked({ deployed: { 'tools/attune': ['--future=1'] } });
    expect(first.by).toMatch(
      /^the default flags: those of Deployment tools\/attune are not understood here: .*--future/,
    );
  });

  it('is told that there is none', async () => {
    expect((await asked({})).first.by).toBe('the default flags: no Attune was found in the cluster');
  });

  it('several: the one whose scope has the namespace, by name before by all', async () => {
    const infos = {
      a: { flags: '--namespaces=blog' },
      b: { flags: '--namespaces-to-ignore=shop', publishedAt: '2031-01-01T00:00:00Z' },
      c: { flags: '', publishedAt: '2030-01-01T00:00:00Z' },
    };
    expect((await asked({ infos })).first.namespace).toBe('c');
    expect((await asked({ infos: { ...infos, d: { flags: '--namespaces=blog,shop' } } })).first.namespace).toBe('d');
  });

  it('several by labels: the one that matches those of the namespace', async () => {
    const infos = { a: { flags: '--namespace-selector=tier=web' }, b: { flags: '--namespace-selector=tier=db' } };
    expect((await asked({ infos, labels: { tier: 'db' } })).first.namespace).toBe('b');
    expect((await asked({ infos, labels: { tier: 'web' } })).first.namespace).toBe('a');
  });

  it('several that are alike: the one that spoke last', async () => {
    const infos = { a: {}, b: { publishedAt: '2031-01-01T00:00:00Z' } };
    expect((await asked({ infos })).found.map(({ namespace }) => namespace)).toEqual(['b', 'a']);
  });

  it('a webhook is known to be set, and not where it is', async () => {
    const { first } = await asked({ infos: { attune: { withheld: 'webhook-url\nlog-format' } } });
    expect(first.settings.webhookUrl).not.toBe('');
    expect(first.by).toMatch(/: --webhook-url=… --log-format=…$/);
  });

  it('an election of others asks nothing of this one', async () => {
    const { first } = await asked({ infos: { attune: { flags: '--enable-ha=true' } } });
    expect(first.settings.enableHa).toBe(true);
  });

  it('flags of another version that are not understood: why, and the defaults', async () => {
    const { first } = await asked({
      infos: { attune: { version: '9.9.9', flags: '--compat=stakater\n--brand-new=1' } },
    });
    expect(first.by).toMatch(
      /^the default flags: those in ConfigMap attune\/attune-info, of Attune 9\.9\.9, are not .*: unknown flag: --brand-new/,
    );
    expect(first.settings.compat).toBe(false);
  });

  it('one that publishes nothing is known by its Deployment, and one that does is not told twice', async () => {
    const deployed = { 'attune/attune': ['--namespaces=shop'], 'old/attune': ['--reload-on-create=true'] };
    const infos = { attune: { flags: '--namespaces=shop' } };
    const { found } = await asked({ infos, deployed });
    expect(found.map(({ by }) => by.split(' (')[0])).toEqual([
      'the flags of ConfigMap attune/attune-info',
      'the flags of Deployment old/attune',
    ]);
  });
});

describe('who may not', () => {
  const infos = { attune: { flags: '--auto-reload-all=true' }, odd: { flags: '--reload-on-create=true' } };

  it('is judged by what is published in the usual places', async () => {
    const { first, paths } = await asked({ infos, mayList: false });
    expect(first).toMatchObject({ namespace: 'attune', settings: { autoReloadAll: true } });
    expect(paths.filter((path) => path.startsWith('get')).map((path) => path.split('/')[4])).toEqual([
      'shop',
      'attune',
      'reloader',
    ]);
  });

  it('says where else it is', async () => {
    const { first, paths } = await asked({ infos, mayList: false }, '--attune-namespace=odd');
    expect(first).toMatchObject({ namespace: 'odd', settings: { reloadOnCreate: true } });
    expect(paths.filter((path) => path.includes('configmaps'))).toHaveLength(1);
  });

  it('is told where nothing could be read, and what to do', async () => {
    const { first } = await asked({ mayList: false });
    expect(first.by).toBe(
      'the default flags: you may not look for Attune, and no ConfigMap attune-info can be read in shop, attune, ' +
        'reloader; say with --attune-namespace where it is, or give its flags here',
    );
  });
});

describe('--attune-namespace', () => {
  it('leaves out all others', async () => {
    const infos = { attune: { flags: '--namespaces=shop' }, odd: { flags: '--namespaces=blog' } };
    const deployed = { 'attune/attune': ['--namespaces=shop'] };
    const { found } = await asked({ infos, deployed }, '--attune-namespace=odd');
    expect(found.map(({ namespace }) => namespace)).toEqual(['odd']);
  });

  it('finds a Deployment there that publishes nothing', async () => {
    const { first } = await asked({ deployed: { 'odd/old': ['--auto-reload-all'] } }, '--attune-namespace=odd');
    expect(first).toMatchObject({ by: 'the flags of Deployment odd/old', settings: { autoReloadAll: true } });
  });

  it.each([
    [true, 'the default flags: there is no ConfigMap attune-info in namespace odd'],
    [false, 'the default flags: you may not read ConfigMap odd/attune-info, which has those of Attune; give them here'],
  ])('nothing there, and may list %s', async (mayList, by) => {
    expect((await asked({ mayList, infos: { attune: {} } }, '--attune-namespace=odd')).first.by).toBe(by);
  });

  it('flags that are given beat what is published', async () => {
    const { first, paths } = await asked({ infos: { odd: {} } }, '--attune-namespace=odd', '--auto-reload-all');
    expect(first).toMatchObject({ by: 'the flags given', settings: { autoReloadAll: true } });
    expect(paths).toEqual([]);
  });
});
