import { LAST_RELOADED_FROM } from '../../api/annotations.ts';
import { listIn, objectIn, textIn } from '../../api/json.ts';
import { SOURCE_TYPE, type SourceKind, type SourceRef } from '../../api/sources.ts';
import type { StakaterStrategy, Wants } from '../asks/ask.ts';
import { indexOnce, WORTH_AN_INDEX } from '../index-once.ts';
import { referenceTo } from '../workload/references.ts';
import type { ContainerView, MarkVar, Reference, Workload } from '../workload/workload.ts';

const VARIABLE = /^STAKATER_.*_(?:CONFIGMAP|SECRET|SECRETPROVIDERCLASS)$/;
const SHA1 = /^[0-9a-f]{40}$/;

/** The variable that carries a source's mark. Different names can share one: `a-b` and `a.b`. */
export function variableName(kind: SourceKind, name: string): string {
  // Go maps two letters beyond ASCII, dotless i and long s, to ASCII capitals. It leaves sharp s alone, JavaScript not.
  const upper = name.replace(/[a-z\u0131\u017f]/g, (letter) => letter.toUpperCase());
  const word = upper.replace(/[^A-Z0-9]+/g, '_').replace(/^_/, '');
  return `STAKATER_${word}_${SOURCE_TYPE[kind]}`;
}

/** Whether the name of a variable is one that a reloader gives. */
export const isMarkName = (name: string): boolean => VARIABLE.test(name);

/** Whether a reloader wrote this variable: its name, and a SHA-1 written out as the value. */
export function isMarkVariable(env: unknown): boolean {
  const { name, value, valueFrom } = objectIn(env) as Record<string, unknown>;
  return (valueFrom === undefined || valueFrom === null) && VARIABLE.test(textIn(name)) && SHA1.test(textIn(value));
}

export interface LastReloadedFrom {
  readonly type: string;
  readonly name: string;
  readonly namespace: string;
  readonly hash: string;
  readonly containerRefs: readonly string[];
  /** Seconds since the epoch. */
  readonly observedAt: number;
}

/** The annotation's text, byte for byte as Go's encoder writes it. */
export function lastReloadedFrom(ref: SourceRef, mark: string, container: string, observedAtSeconds: number): string {
  const content: LastReloadedFrom = {
    type: SOURCE_TYPE[ref.kind],
    name: ref.name,
    namespace: ref.namespace,
    hash: mark,
    containerRefs: [container],
    observedAt: Math.trunc(observedAtSeconds),
  };
  return JSON.stringify(content).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Undefined if the text is not what a reloader writes. */
export function parseLastReloadedFrom(text: string): LastReloadedFrom | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { type, name, namespace, hash, containerRefs, observedAt } = objectIn(content) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof name !== 'string' || typeof hash !== 'string') return undefined;
  return {
    type,
    name,
    namespace: textIn(namespace),
    hash,
    containerRefs: listIn(containerRefs).map(textIn),
    observedAt: typeof observedAt === 'number' ? observedAt : 0,
  };
}

/** The first of each name. */
const marksByName = indexOnce(
  (marks: readonly MarkVar[]) => new Map(marks.toReversed().map((mark) => [mark.name, mark])),
);

/** The first variable of this name in a container: the one that upstream looks at. */
export function markIn(container: ContainerView | undefined, variable: string): MarkVar | undefined {
  if (!container || container.marks.length < WORTH_AN_INDEX) {
    return container?.marks.find((mark) => mark.name === variable);
  }
  return marksByName(container.marks).get(variable);
}

/**
 * What the pod template says about a source's data.
 *
 * `shared-name`: another source that this workload uses or names has the same variable, so its value proves nothing
 * about this one.
 */
export function carriesMark(
  workload: Workload,
  ref: SourceRef,
  mark: string,
  strategy: StakaterStrategy,
): 'equal' | 'different' | 'missing' | 'shared-name' {
  if (strategy === 'annotations') {
    const last = parseLastReloadedFrom(workload.templateAnnotations[LAST_RELOADED_FROM] ?? '');
    const same = last?.type === SOURCE_TYPE[ref.kind] && last.name === ref.name && last.namespace === ref.namespace;
    if (!same) return 'missing';
    return last.hash === mark ? 'equal' : 'different';
  }
  const variable = variableName(ref.kind, ref.name);
  if (sharesVariable(workload, ref, variable)) return 'shared-name';
  const use = referenceTo(workload.references, ref);
  // A mark in another container was written when the source was used there.
  const places = [workload.containers[use?.container ?? 0], ...workload.containers];
  const found = places.map((container) => markIn(container, variable)).find((entry) => entry !== undefined);
  if (found === undefined) return 'missing';
  return found.value === mark ? 'equal' : 'different';
}

/** The texts of all elements count, not only the literal ones: a plain name with dots is a pattern too. */
function sharesVariable({ references, intent }: Workload, { kind, name }: SourceRef, variable: string): boolean {
  const isOther = (other: string): boolean => other !== name && variableName(kind, other) === variable;
  const hasOther = (names = NOBODY): boolean => names.size > (names.has(name) ? 1 : 0);
  const isUsed =
    references.length < WORTH_AN_INDEX
      ? references.some((each) => each.kind === kind && isOther(each.name))
      : hasOther(referencesByVariable(references).get(variable));
  return (
    isUsed ||
    intent.asks.some(({ wants }) => {
      if (wants.what !== 'named' || wants.kind !== kind) return false;
      if (wants.patterns.length < WORTH_AN_INDEX) return wants.patterns.some(({ text }) => isOther(text));
      return hasOther(patternsByVariable(wants).get(variable));
    })
  );
}

const NOBODY: ReadonlySet<string> = new Set();

const referencesByVariable = indexOnce((references: readonly Reference[]) => byVariable(references));

const patternsByVariable = indexOnce(({ kind, patterns }: Extract<Wants, { readonly what: 'named' }>) =>
  byVariable(patterns.map(({ text }) => ({ kind, name: text }))),
);

/** By the variable that carries their marks, the names of sources. */
function byVariable(sources: readonly Pick<SourceRef, 'kind' | 'name'>[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { kind, name } of sources) {
    const variable = variableName(kind, name);
    const names = found.get(variable) ?? new Set();
    found.set(variable, names.add(name));
  }
  return found;
}
