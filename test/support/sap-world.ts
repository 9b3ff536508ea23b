import { CONFIG_HASH, DEFAULT_KEYS, SAP_LISTS } from '../../src/api/annotations.ts';
import type { SourceRef } from '../../src/api/sources.ts';
import type { Workload } from '../../src/domain/workload/workload.ts';
import { policyOf } from '../conformance/given.ts';
import { type Look, parsed, setUp, source, webObject } from './engine-world.ts';

export const REFS = ['app', 'b'].map((name): SourceRef => ({ kind: 'ConfigMap', namespace: 'shop', name }));
export const [A, B] = REFS as [SourceRef, SourceRef];

/** Deployment web, which lists the ConfigMaps app and b in SAP's words and asks for nothing else. */
export function sapObject(version: number, look: Look & { readonly hash?: string | undefined } = {}) {
  const { hash, ...rest } = look;
  const annotations = { [DEFAULT_KEYS.auto]: '', [SAP_LISTS.ConfigMap]: 'app,b', ...look.annotations };
  return webObject(version, {
    ...rest,
    annotations,
    templateAnnotations: hash === undefined ? {} : { [CONFIG_HASH]: hash },
  });
}

/** An engine that has seen it, with both ConfigMaps or without. */
export function sapWorld(
  options: Parameters<typeof setUp>[0] & { sapCompat?: boolean; first?: Look; absent?: true } = {},
) {
  const { sapCompat = false, first, absent, ...deps } = options;
  const world = setUp({ policy: policyOf({ sapCompat }), ...deps });
  const web = (version: number, look?: Parameters<typeof sapObject>[1]): Workload =>
    parsed(sapObject(version, look), sapCompat);
  if (!absent) for (const ref of REFS) world.sources.put(source('A', 5, ref), false);
  world.engine.workloadSeen(web(6, first), 'list');
  world.engine.begin();
  return {
    ...world,
    web,
    seen: (version: number, look?: Parameters<typeof sapObject>[1]) =>
      world.engine.workloadSeen(web(version, look), 'watch'),
  };
}
