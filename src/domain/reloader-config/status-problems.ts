import { NAMESPACE_NAME } from '../../api/resources.ts';
import type { SourceKind } from '../../api/sources.ts';
import { isByName } from './config.ts';
import { howToAllow } from './consent-text.ts';
import type { MissingSource, StatusFacts, TargetFacts } from './status-facts.ts';

/** Why a ReloaderConfig is degraded, the most serious first: what has not arrived, then what never will, then what may come. */
const REASONS = [
  'ReloadFailed',
  'InvalidSpec',
  'NotAllowed',
  'TargetNotFound',
  'ResourceNotFound',
  'NotWatched',
] as const;

export type DegradedReason = (typeof REASONS)[number];

export interface StatusProblem {
  readonly reason: DegradedReason;
  /** With the path of its field. */
  readonly text: string;
}

/** All that is wrong with a ReloaderConfig, the most serious first. One that is ignored has no problems. */
export function problemsOf({ config, targets, missing, readsNamespaces }: StatusFacts): readonly StatusProblem[] {
  if (config.isIgnored) return [];
  const { namespaceSelector: selector } = config;
  const invalid = config.problems.map(({ path, message }) => problem('InvalidSpec', path, message));
  const all = [
    ...invalid,
    ...targets.flatMap((each) => ofTarget(each, config.ref.namespace, readsNamespaces)),
    ...missing.map(ofSource),
    ...(readsNamespaces || !selector || isByName(selector) ? [] : [UNREAD_LABELS]),
  ];
  return all.toSorted((a, b) => REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason));
}

const problem = (reason: DegradedReason, path: string, message: string): StatusProblem => ({
  reason,
  text: `${path}: ${message}`,
});

const UNREAD_LABELS = problem(
  'NotWatched',
  'spec.watchedResources.namespaceSelector',
  'the controller does not read labels of namespaces, as it watches only some: ' +
    `select them by ${NAMESPACE_NAME}, their name`,
);

function ofTarget(facts: TargetFacts, own: string, readsNamespaces: boolean): readonly StatusProblem[] {
  const { path, ref } = facts.target;
  const name = `${ref.kind} "${ref.name}"`;
  switch (facts.is) {
    case 'not-allowed':
      return [problem('NotAllowed', `${path}.namespace`, refusalText(ref.namespace, own, readsNamespaces))];
    case 'absent':
      return [problem('TargetNotFound', path, `${name} does not exist in namespace "${ref.namespace}"`)];
    case 'unwatched':
      return [problem('NotWatched', path, `${name} is not watched: ${facts.why}`)];
    case 'present':
      return facts.error === undefined ? [] : [problem('ReloadFailed', path, `${name}: ${facts.error}`)];
  }
}

function refusalText(to: string, from: string, readsNamespaces: boolean): string {
  const whom = `"${from}"`;
  return `namespace "${to}" does not allow reloads from ${whom}: ${howToAllow(to, from, readsNamespaces)}`;
}

const LISTS: Readonly<Record<SourceKind, string>> = {
  ConfigMap: 'spec.watchedResources.configMaps',
  Secret: 'spec.watchedResources.secrets',
  SecretProviderClass: 'spec.watchedResources',
};

function ofSource({ ref: { kind, name }, namespaces, unwatched }: MissingSource): StatusProblem {
  const what = `${kind} "${name}"`;
  if (unwatched !== undefined) return problem('NotWatched', LISTS[kind], `${what} ${unwatched}`);
  const [only = '', ...more] = namespaces;
  const where = more.length === 0 ? `namespace "${only}"` : `any of the namespaces ${namespaces.join(', ')}`;
  return problem('ResourceNotFound', LISTS[kind], `${what} does not exist in ${where}`);
}

// A condition may have 32,768; people read less.
const MOST_CHARACTERS = 2000;

/** One text of many, cut where it becomes too long; the first is there in any case. */
export function joined(texts: readonly string[]): string {
  let text = '';
  for (const [index, each] of texts.entries()) {
    const next = index === 0 ? each.slice(0, MOST_CHARACTERS) : `${text}; ${each}`;
    if (next.length > MOST_CHARACTERS) return `${text}; and ${texts.length - index} more`;
    text = next;
  }
  return text;
}
