import { PODS, type Resource } from '../../api/resources.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import type { ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

const CURE = 'set attune.reloaderConfig.restart=true in the values of the chart';

/** A restart does not go on by itself: it counts as refused, and is tried again as rarely as that. */
export const stopped = ({ kind, namespace, name }: WorkloadRef, detail: string): KubeError =>
  new KubeError({ verb: 'create', path: `evictions for ${kind} ${namespace}/${name}`, ...STOPPED, detail });

const STOPPED = { status: 412, reason: 'Stopped' };

export const mayNotList = (
  error: KubeError | undefined,
  { namespace }: ListScope,
  { plural }: Resource = PODS,
): KubeError =>
  new KubeError({
    ...{ verb: 'list', path: `${plural} in namespace ${namespace}`, status: 403, reason: 'Forbidden' },
    detail: `rolloutStrategy restart needs to know them${error?.detail ? ` (${error.detail})` : ''}: ${CURE}`,
  });

/** What the server's answer to an eviction means where it is final. */
export function finalWord(ref: WorkloadRef, pod: string, error: KubeError): KubeError {
  const said = error.detail ?? error.reason;
  if (error.status === 403) {
    return stopped(ref, `pod ${pod} may not be evicted: ${said}. If it is the right that is missing, ${CURE}`);
  }
  return stopped(ref, `pod ${pod} cannot be evicted: ${said} Leave one PodDisruptionBudget that selects it`);
}

/** Two budgets for one pod: the server does not know which of them counts, and answers as if it were broken. */
export const isTwoBudgets = ({ status, detail = '' }: KubeError): boolean =>
  status === 500 && /more than one PodDisruptionBudget/i.test(detail);

/** The pods of a restart cannot be written down, so none is evicted. */
export function notWrittenDown(ref: WorkloadRef, why: string, cure: string): KubeError {
  return stopped(ref, `no pod is evicted before the ledger says which of them are to go, and ${why}: ${cure}`);
}
