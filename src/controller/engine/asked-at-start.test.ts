import { describe, expect, test } from 'vitest';
import { type Look, setUp, source, web } from '../../../test/support/engine-world.ts';
import { settings } from '../../../test/support/settings.ts';
import type { SourceRef } from '../../api/sources.ts';
import { parseReloaderConfig } from '../../domain/reloader-config/parse-config.ts';
import { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';

const OTHER: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'other' };

const CONFIG = parseReloaderConfig(
  {
    metadata: {
      ...{ name: 'main', namespace: 'shop', uid: 'c', generation: 1 },
      ...{ resourceVersion: '58', creationTimestamp: '2026-01-01T11:00:00Z' },
    },
    spec: { watchedResources: { configMaps: ['other'] }, targets: [{ kind: 'Deployment', name: 'web' }] },
  } as never,
  'ignore',
);

/** The ledger was written last at 10:55. Then, while nobody was there, a config came at 11:00, and its source was edited. */
function waitsAtStart({ isKept, editedAt, look = {} }: { isKept: boolean; editedAt: string; look?: Look }) {
  const configs = new ReloaderConfigs(settings([]));
  const seen = { ConfigMap: 50 };
  const entry = { seq: 0, applied: { 'ConfigMap/app': 'A' }, seen, revision: web(6).revision };
  const aliveAt = Date.parse('2026-01-01T10:55:00Z');
  const world = setUp({ configs, aliveAt, seen, ...(isKept && { entry }) });
  world.sources.put(source('A', 5), false);
  const times = { editedAt: `2026-01-01T${editedAt}:00Z`, bornAt: '2026-01-01T09:00:00Z' };
  world.sources.put({ ...source('X', 60, OTHER), ...times }, false);
  configs.put(CONFIG);
  world.engine.workloadSeen(web(6, look), 'list');
  world.engine.begin();
  return world.waits();
}

describe.each([true, false])(
  'a config that came while nobody was there, for a workload that the ledger knows: %s',
  (isKept) => {
    test('counts what was edited after it', () => {
      expect(waitsAtStart({ isKept, editedAt: '11:05' })).toEqual(['ConfigMap/other']);
    });

    test('counts nothing that was edited before it, also where the template is a new one', () => {
      expect(waitsAtStart({ isKept, editedAt: '10:58' })).toEqual([]);
      expect(waitsAtStart({ isKept, editedAt: '10:58', look: { image: 'v2', revision: 2 } })).toEqual([]);
    });
  },
);
