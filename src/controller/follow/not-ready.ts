import type { KubeError } from '../../kube/kube-error.ts';
import type { FollowedKind, Role } from './followed-kind.ts';

/** Why no work can be done, and what would change that. */
export interface NotReady {
  readonly message: string;
  readonly cure: string | undefined;
}

/**
 * Whether there is work that can be done: a kind of source and one of workload, in the same place. Workloads are not needed
 * where changes are only told to somebody (`--webhook-url`).
 */
export function canWork(followed: readonly FollowedKind[], needsWorkloads: boolean): boolean {
  const usable = followed.filter((kind) => kind.isUsable);
  const places = (role: Role) => new Set(usable.filter((kind) => kind.role === role).map(({ namespace }) => namespace));
  const sources = places('source');
  const workloads = needsWorkloads ? places('workload') : sources;
  const isPossible = [...sources].some((namespace) => workloads.has(namespace));
  // Who cannot see the namespaces does not know which of them are meant.
  return isPossible && followed.every((kind) => kind.role !== 'namespace' || kind.isUsable);
}

/** Undefined: work can be done, or not all is known yet. */
export function notReadyBecause(followed: readonly FollowedKind[], needsWorkloads: boolean): NotReady | undefined {
  if (canWork(followed, needsWorkloads) || !followed.every((kind) => kind.isKnown)) return undefined;
  const refused = followed.find(({ error }) => error?.status === 401)?.error;
  if (refused) return refusedCredential(refused);
  const needed: Role[] = needsWorkloads ? ['source', 'workload'] : ['source'];
  if (followed.some(({ role }) => role === 'namespace')) needed.unshift('namespace');
  const lacking = needed.filter((role) => !followed.some((kind) => kind.role === role && kind.isUsable));
  if (lacking.length === 0) {
    return {
      message: 'nowhere may it follow both a kind of source and a kind of workload in the same namespace',
      cure: `${grants(followed, ['source', 'workload'])}, in one namespace at least`,
    };
  }
  const missing = lacking.map((role) => missingWords(followed, role));
  return { message: missing.join('; and '), cure: grants(followed, lacking) };
}

/** What delays the start. Kinds that the rights do not cover, or that are too large, do not: the program works without them. */
export function startDelayedBy(followed: readonly FollowedKind[]): NotReady | undefined {
  const stuck = followed.find(
    ({ isListed, error }) => !isListed && error && !isDenied(error) && error.reason !== 'TooLarge',
  );
  if (!stuck?.error) return undefined;
  if (stuck.error.status === 401) return refusedCredential(stuck.error);
  return { message: `${nameOf(stuck)} cannot be followed: ${stuck.error.message}`, cure: undefined };
}

export const refusedCredential = ({ detail, message }: KubeError): NotReady => ({
  message: detail ?? message,
  cure: 'renew it; what stands in a file of its own or comes from a plugin is noticed, for anything else restart Attune',
});

export const refusedLease = ({ message }: KubeError): NotReady => ({
  message: `it may not take part in the election of the leader: ${message}`,
  cure: 'grant get, watch, create and update on leases in the own namespace',
});

const isDenied = ({ status }: KubeError): boolean => status === 403 || status === 404 || status === 405;

function missingWords(followed: readonly FollowedKind[], role: Role): string {
  const kinds = followed.filter((kind) => kind.role === role);
  const other = kinds.find(({ error }) => error && !isDenied(error));
  if (other?.error) return `${nameOf(other)} cannot be followed: ${other.error.message}`;
  const namespaces = [...new Set(kinds.map(({ namespace }) => namespace))].filter((name) => name !== '');
  const where = namespaces.length === 0 ? '' : ` in ${either(namespaces)}`;
  return `it may not ${role === 'source' ? 'list and watch' : 'list'} ${namesOf(kinds)}${where}`;
}

function grants(followed: readonly FollowedKind[], roles: readonly Role[]): string {
  const each = roles.map((role) => {
    const verbs = role === 'workload' ? 'list, watch and patch' : 'list and watch';
    return `${verbs} on ${namesOf(followed.filter((kind) => kind.role === role))}`;
  });
  return `grant ${each.join(', and ')}`;
}

const nameOf = ({ resource: { plural, group } }: FollowedKind): string =>
  group.includes('.') ? `${plural}.${group}` : plural;
const namesOf = (kinds: readonly FollowedKind[]): string => either([...new Set(kinds.map(nameOf))]);
const either = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
