import type { JsonObject } from '../../api/json.ts';
import { WORKLOAD_KINDS, type WorkloadKind } from '../../api/kinds.ts';
import { NAMESPACE_NAME, type Resource } from '../../api/resources.ts';
import type { ControllerOptions } from '../../domain/controller-options.ts';
import { parseSelector, type Selector } from '../../domain/text/selector.ts';
import { clientConfigOf, type Endpoint } from '../endpoint.ts';
import { matchCondition } from './match-conditions.ts';

/** What decides with which writes the API server comes to us. */
export interface RegistrationRules
  extends Pick<ControllerOptions, 'compat' | 'sapCompat' | 'scope' | 'ignoredKinds' | 'isArgoRollouts'> {
  /** Whether marks and records are put back. */
  readonly marks: boolean;
}

export const REGISTRATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
  namespaced: false,
};

/** Entries of ours are named so, whoever made the registration. */
/** How long the API server waits for an answer, unless somebody edits the registration. */
export const TIMEOUT_SECONDS = 3;
export const ENTRY_SUFFIX = '.admission.attune.dev';
/** Objects with this label are none of our business; Attune's own Deployment has it, so that it can always be written. */
export const EXEMPT = { label: 'attune.dev/admission', value: 'exempt' } as const;

/**
 * The registration with the API server: one entry for each place in which a kind keeps its pod template. It says `Ignore`
 * and trusts nobody: what else it is to say is set by a running Attune, once it can be reached.
 */
export function registrationManifest(endpoint: Endpoint, rules: RegistrationRules): JsonObject {
  const kinds = WORKLOAD_KINDS.filter((kind) => isServed(kind, rules));
  const paths = new Map(kinds.map(({ templatePath }) => [templatePath.join('.'), templatePath]));
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: REGISTRATIONS.kind,
    metadata: { name: endpoint.name, labels: { 'app.kubernetes.io/part-of': 'attune' } },
    webhooks: [...paths.values()].map((path) => ({
      name: `${path.length > 2 ? 'cronjobs' : 'workloads'}${ENTRY_SUFFIX}`,
      clientConfig: clientConfigOf(endpoint),
      rules: rulesFor(kinds.filter(({ templatePath }) => templatePath.join('.') === path.join('.'))),
      matchPolicy: 'Equivalent',
      namespaceSelector: { matchExpressions: namespacesOf(rules.scope) },
      objectSelector: { matchExpressions: [{ key: EXEMPT.label, operator: 'NotIn', values: [EXEMPT.value] }] },
      matchConditions: [matchCondition(path, rules)],
      sideEffects: 'None',
      reinvocationPolicy: 'IfNeeded',
      timeoutSeconds: TIMEOUT_SECONDS,
      failurePolicy: 'Ignore',
      admissionReviewVersions: ['v1'],
    })),
  };
}

/** The kinds that the controller watches, but for Jobs, whose template nobody can change. */
function isServed(
  { kind, effect }: WorkloadKind,
  { ignoredKinds, isArgoRollouts, compat }: RegistrationRules,
): boolean {
  if (effect === 'replace' || ignoredKinds.has(kind)) return false;
  if (kind === 'Rollout') return isArgoRollouts;
  return kind !== 'DeploymentConfig' || !compat;
}

/** One rule for each group and version. */
function rulesFor(kinds: readonly WorkloadKind[]): readonly JsonObject[] {
  const groups = Map.groupBy(kinds, ({ group, version }) => `${group}/${version}`);
  return Array.from(groups.values(), (rows) => ({
    apiGroups: rows.slice(0, 1).map(({ group }) => group),
    apiVersions: rows.slice(0, 1).map(({ version }) => version),
    resources: rows.map(({ plural }) => plural),
    operations: ['CREATE', 'UPDATE'],
    scope: 'Namespaced',
  }));
}

function namespacesOf(scope: RegistrationRules['scope']): readonly JsonObject[] {
  const isNamed = (operator: 'In' | 'NotIn', values: readonly string[]) => ({ key: NAMESPACE_NAME, operator, values });
  const ignored = scope.mode === 'global' ? scope.ignore : [];
  const except = isNamed('NotIn', [...new Set(['kube-system', ...ignored])]);
  if (scope.mode === 'namespaces') return [except, isNamed('In', scope.namespaces)];
  const parsed = parseSelector(scope.selector ?? '');
  if ('error' in parsed) throw new Error(`--namespace-selector cannot be understood: ${parsed.error}`);
  return [except, ...parsed.selector.map(expressionOf)];
}

const OPERATORS = { exists: 'Exists', '!': 'DoesNotExist', in: 'In', notin: 'NotIn' } as const;

function expressionOf({ key, operator, values }: Selector[number]): JsonObject {
  if (operator === '<' || operator === '>') {
    throw new Error(
      `a registration cannot compare numbers, as --namespace-selector=${key}${operator}${values.join()} does: ` +
        'give these namespaces a label, and select by that',
    );
  }
  return { key, operator: OPERATORS[operator], ...(values.length > 0 && { values }) };
}
