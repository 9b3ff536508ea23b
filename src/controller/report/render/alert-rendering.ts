import { SOURCE_TYPE } from '../../../api/sources.ts';
import type { Alert } from '../../../telemetry/alerts.ts';
import type { Renderer } from '../outcome-feed.ts';
import { listed } from './source-list.ts';

/** One alert for each rollout; about what else happens there are none. */
export function alertRendering(send: (alert: Alert) => void): Renderer {
  return (outcome) => {
    if (outcome.is !== 'rolled' && outcome.is !== 'replaced') return;
    const sources = outcome.changes.map(({ ref }) => ref);
    const [first, ...more] = sources;
    if (!first) return;
    const { kind, name } = outcome.workload.ref;
    send({
      source: more.length === 0 ? first.name : listed(sources),
      sourceType: more.length === 0 ? SOURCE_TYPE[first.kind] : undefined,
      namespace: first.namespace,
      workload: name,
      workloadKind: kind,
    });
  };
}
