import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Settings } from '../../config/settings.ts';
import { slipsIn } from '../../domain/asks/slips.ts';
import type { Workload } from '../../domain/workload/workload.ts';

/**
 * Annotations of a workload that cannot be read, and likely mistakes. With --compat=stakater the controller does not report
 * mistakes, because Stakater Reloader does not; a person who asks sees them all the same.
 */
export function annotationProblems(
  kind: WorkloadKind,
  object: KubeObject,
  { intent }: Workload,
  settings: Settings,
): readonly string[] {
  const unreadable = intent.problems.filter(({ isSlip }) => !isSlip);
  const slips = slipsIn(kind, object, { ...settings, compat: false });
  return [...unreadable, ...slips].map(({ path, message }) => `${path} ${message}`);
}
