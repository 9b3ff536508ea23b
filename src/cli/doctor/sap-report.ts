import { REGISTRATIONS } from '../../admission/registration/manifest.ts';
import { WORKLOAD_KINDS } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { NAMESPACES, type Resource } from '../../api/resources.ts';
import type { Settings } from '../../config/settings.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listAll } from '../../model/list-all.ts';
import { ATTUNE_IMAGE, programsOf } from '../cluster/deployed.ts';
import { diagnoseSap, type SapDiagnosis } from './sap-findings.ts';
import {
  ownRegistrations,
  type SapProgram,
  type SapRegistration,
  sapPrograms,
  sapRegistrations,
  selectorOf,
} from './sap-installation.ts';

/** What would change if Attune took over from SAP pod-reloader. */
export interface SapReport {
  readonly program: 'SAP pod-reloader';
  readonly programs: readonly SapProgram[];
  readonly registrations: readonly SapRegistration[];
  /** Deployments and registrations of Attune's: SAP's must not be there at the same time. */
  readonly besides: readonly string[];
  /** Of the Attune that would take over. */
  readonly mode: 'default' | 'sap';
  /** What changes for all workloads. */
  readonly changes: readonly string[];
  readonly unread: readonly string[];
  readonly diagnoses: readonly SapDiagnosis[];
  /** What to do, in this order. */
  readonly steps: readonly string[];
}

const CHANGES = {
  default: [
    'Taking over rolls nothing. The hash on a pod template stays until something else rolls it, and is one of the content from then on.',
    'What counts is the content: new labels or annotations of a source, a restore or a new encryption roll nothing any more.',
    'Names are trimmed. Several changes within a second are one rollout.',
  ],
  sap: ['With --compat=sap: the same hashes, by version, and the same answers.'],
} as const;

/** Undefined: nothing of it is in the cluster, as far as can be read. `deployments`: all, or undefined if they may not be listed. */
export async function examineSap(
  client: KubeClient,
  settings: Settings,
  at: { readonly namespace: string | undefined; readonly deployments: readonly KubeObject[] | undefined },
): Promise<SapReport | undefined> {
  const unread: string[] = [];
  const read = async (resource: Resource, so: string, scope: { readonly namespace?: string } = {}) => {
    const objects = await listAll(client, resource, scope, resource !== REGISTRATIONS);
    if (!objects) unread.push(`${resource.plural}: this user may not list them, so ${so}`);
    return objects ?? [];
  };
  const configurations = await read(REGISTRATIONS, 'what SAP leaves out is not known');
  const registrations = sapRegistrations(configurations);
  const programs = sapPrograms(at.deployments ?? []);
  const labelsOf =
    registrations.some(({ namespaceSelector }) => namespaceSelector !== '') || choosesByLabel(settings)
      ? labelsIn(await read(NAMESPACES, 'which namespaces are left out is not known'))
      : () => undefined;
  const basis = { settings, registrations, labelsOf };
  const diagnoses: SapDiagnosis[] = [];
  for (const kind of WORKLOAD_KINDS.filter((each) => isWatched(each.kind, settings))) {
    const scope = at.namespace === undefined ? {} : { namespace: at.namespace };
    const objects = await read(kind, 'they are left out', scope);
    diagnoses.push(...objects.flatMap((object) => diagnoseSap(kind, object, basis) ?? []));
  }
  if (programs.length === 0 && registrations.length === 0 && diagnoses.length === 0) return undefined;
  const mode = settings.sapCompat ? 'sap' : 'default';
  const attunes = [...ownRegistrations(configurations), ...attuneDeployments(at.deployments ?? [])];
  return {
    program: 'SAP pod-reloader',
    programs,
    registrations,
    besides: registrations.length > 0 ? attunes : [],
    mode,
    changes: CHANGES[mode],
    unread: [...unread, ...registrations.flatMap(notEvaluated)],
    diagnoses,
    steps: steps(programs, registrations, diagnoses),
  };
}

const attuneDeployments = (deployments: readonly KubeObject[]): readonly string[] =>
  deployments
    .flatMap((object) => programsOf(object, ATTUNE_IMAGE))
    .map(({ namespace, name }) => `Deployment ${namespace}/${name}`);

/** A Job's template cannot be changed, and the list of them is long. */
const isWatched = (kind: string, { ignoredKinds, isArgoRollouts }: Settings): boolean =>
  kind !== 'Job' && ![...ignoredKinds].some((each) => each === kind) && (kind !== 'Rollout' || isArgoRollouts);

const choosesByLabel = ({ scope }: Settings): boolean => scope.mode === 'global' && scope.selector !== undefined;

function labelsIn(namespaces: readonly KubeObject[]) {
  const labels = new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  return (namespace: string) => labels.get(namespace);
}

function notEvaluated({ name, hasConditions, objectSelector, namespaceSelector }: SapRegistration): readonly string[] {
  const of = `of MutatingWebhookConfiguration ${name}`;
  return [
    ...(hasConditions ? [`matchConditions ${of}: only the API server can evaluate them`] : []),
    ...[objectSelector, namespaceSelector]
      .filter((text) => selectorOf(text) === undefined)
      .map((text) => `selector ${text} ${of}: it is not understood here`),
  ];
}

/**
 * The registration goes first: with `Fail` and without the program behind it, every write to a workload would be refused. Tokens
 * go when nobody writes new ones.
 */
function steps(
  programs: readonly SapProgram[],
  registrations: readonly SapRegistration[],
  diagnoses: readonly SapDiagnosis[],
): readonly string[] {
  return [
    ...registrations.map(({ name }) => `kubectl delete mutatingwebhookconfiguration ${name}`),
    ...programs
      .filter(({ replicas }) => replicas > 0)
      .map(({ namespace, name }) => `kubectl -n ${namespace} scale deployment/${name} --replicas=0`),
    ...diagnoses.flatMap(({ before }) => before),
    'helm install attune charts/attune --namespace attune --create-namespace --set attune.admission.enabled=true',
  ];
}
