import { describe, expect, test } from 'vitest';
import { APP, setUp, source, web } from '../../../test/support/engine-world.ts';
import { settings } from '../../../test/support/settings.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';

const config = (version: number, namespace: string, spec: object) =>
  parseReloaderConfig(
    {
      metadata: {
        ...{ name: 'main', namespace, uid: 'main', generation: version },
        ...{ resourceVersion: String(version), creationTimestamp: '2026-01-01T11:00:00Z' },
      },
      spec: { watchedResources: { configMaps: ['app'] }, ...spec },
    } as never,
    'ignore',
  );
const WEB_IN_SHOP = { targets: [{ kind: 'Deployment', name: 'web', namespace: 'shop' }] };
const TEAMS = { ...APP, namespace: 'team' };
const ALLOWED = { labels: {}, allowsFrom: new Set(['team']) };

/** A workload for which nobody but configs asks anything. */
function unasked() {
  const configs = new ReloaderConfigs(settings([]));
  const world = setUp({ configs });
  world.engine.workloadSeen(web(6, { annotations: { 'reloader.stakater.com/auto': '' } }), 'list');
  return { ...world, configs };
}
const unread = (version: number, ref = APP) => ({ ...source('A', version, ref), fingerprint: undefined });

test('a config that is listed late rolls nothing for a source that is younger, and that nobody has read before', () => {
  const { sources, engine, configs, wanted, waits } = unasked();
  sources.put(unread(5), false);
  engine.begin();
  engine.asksChanged(configs.put(config(3, 'shop', WEB_IN_SHOP)), 3, true);
  expect(wanted).toEqual([APP]);
  engine.sourceChanged(APP, sources.fill(source('A', 5)), 5);
  expect(waits()).toEqual([]);
});

describe('consent', () => {
  test('is as old as it is, whatever else is written to its namespace', () => {
    const other = { ...TEAMS, name: 'other' };
    const { sources, engine, configs, put, waits } = unasked();
    sources.put(source('A', 5, other), false);
    engine.begin();
    engine.asksChanged(configs.put(config(10, 'team', WEB_IN_SHOP)), 10);
    engine.asksChanged(configs.namespaceSeen('shop', { ...ALLOWED, version: 20 }), 20);
    // Its watch is away when the config is edited, at 550.
    put(source('B', 560, other));
    engine.asksChanged(configs.namespaceSeen('shop', { ...ALLOWED, allowsFrom: new Set(['team']), version: 600 }), 600);
    const watchedResources = { configMaps: ['app', 'other'] };
    engine.asksChanged(configs.put(config(550, 'team', { ...WEB_IN_SHOP, watchedResources })), 550, true);
    expect(waits()).toEqual(['ConfigMap/team/other']);
  });

  test('that came after a change makes none of it, also if nobody has read the source', () => {
    const { sources, engine, configs, put, waits } = unasked();
    sources.put(unread(5, TEAMS), false);
    engine.begin();
    engine.asksChanged(configs.namespaceSeen('shop', { ...ALLOWED, version: 600 }), 600);
    engine.asksChanged(configs.put(config(500, 'team', WEB_IN_SHOP)), 500);
    put(source('B', 550, TEAMS));
    expect(waits()).toEqual([]);
    put(source('C', 650, TEAMS));
    expect(waits()).toEqual(['ConfigMap/team/app']);
  });
});

test.each([true, false])(
  'who asked first counts: what a workload asked for while nobody was there, whether or not a config asks later: %s',
  (isConfigThere) => {
    const OTHER = { ...APP, name: 'other' };
    const configs = new ReloaderConfigs(settings([]));
    const seen = { ConfigMap: 50 };
    const entry = { seq: 0, applied: { 'ConfigMap/app': 'A' }, seen, revision: web(6).revision };
    const aliveAt = Date.parse('2026-01-01T10:55:00Z');
    const { sources, engine, waits } = setUp({ configs, aliveAt, seen, entry } as never);
    sources.put(source('A', 5), false);
    const times = { editedAt: '2026-01-01T10:58:00Z', bornAt: '2026-01-01T09:00:00Z' };
    sources.put({ ...source('X', 60, OTHER), ...times }, false);
    const watchedResources = { configMaps: ['other'] };
    if (isConfigThere) configs.put(config(70, 'shop', { ...WEB_IN_SHOP, watchedResources }));
    const annotations = { 'configmap.reloader.stakater.com/reload': 'other' };
    engine.workloadSeen(web(80, { image: 'v2', revision: 2, annotations }), 'list');
    engine.begin();
    expect(waits()).toEqual(['ConfigMap/other']);
  },
);
