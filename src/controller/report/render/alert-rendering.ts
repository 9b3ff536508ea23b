import { SOURCE_TYPE } from '../../../api/sources.ts';
import type { OutcomeOf } from '../../../domain/outcome/outcome.ts';
import type { Alert } from '../../../telemetry/alerts.ts';
import type { Rendering } from '../outcome-feed.ts';
import { listed } from './source-list.ts';

/** An alert for each rollout, unless those who asked for it want none; there are none about what else happens. */
export function alertRendering(send: (alert: Alert) => void): Rendering {
  const rolled = ({ workload: { ref }, changes }: OutcomeOf<'rolled' | 'replaced'>): void => {
    const sources = changes.filter(({ verdict }) => !verdict.isSilent).map((change) => change.ref);
    const [first, ...more] = sources;
    if (!first) return;
    const namespaces = [...new Set(sources.map(({ namespace }) => namespace))];
    const about = { namespaces, workload: ref.name, workloadKind: ref.kind, workloadNamespace: ref.namespace };
    if (more.length > 0) send({ source: listed(sources), sourceType: undefined, ...about });
    else send({ source: first.name, sourceType: SOURCE_TYPE[first.kind], ...about });
  };
  return { rolled, replaced: rolled };
}
