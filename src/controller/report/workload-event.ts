import { SOURCES } from '../../api/annotations.ts';
import { kindNamed } from '../../api/kinds.ts';
import type { SourceKind, SourceRef } from '../../api/sources.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import { carried } from './source-list.ts';

/** A Kubernetes Event about a workload. */
export interface WorkloadEvent {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const COMPONENT: Readonly<Record<SourceKind, string>> = {
  ConfigMap: 'reloader-configmaps',
  Secret: 'reloader-secrets',
  SecretProviderClass: 'reloader-secretproviderclasspodstatuses',
};
const TYPE = {
  Reloaded: 'Normal',
  ReloadFail: 'Warning',
  ReloadReverted: 'Warning',
  InvalidAnnotation: 'Warning',
} as const;

/** A message names a few of many sources; `explain` has to know them all. */
export function eventAbout(
  { ref, uid }: Pick<Workload, 'ref' | 'uid'>,
  reason: keyof typeof TYPE,
  message: string,
  sources: readonly SourceRef[] = [],
): WorkloadEvent {
  const kind = kindNamed(ref.kind);
  const [first] = sources;
  return {
    regarding: { apiVersion: kind?.group ? `${kind.group}/${kind.version}` : 'v1', ...ref, uid },
    type: TYPE[reason],
    reason,
    message,
    component: first ? COMPONENT[first.kind] : 'reloader',
    ...(sources.length > 1 && { annotations: { [SOURCES]: carried(sources) } }),
  };
}
