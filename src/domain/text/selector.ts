import { listIn, objectIn, textIn } from '../../api/json.ts';
import { indexOnce, WORTH_AN_INDEX } from '../index-once.ts';
import { quote } from './quote.ts';
import { isSubdomain } from './subdomain.ts';

/** Kubernetes label selectors: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k>1`, `k<1`. */
export interface Requirement {
  readonly key: string;
  readonly operator: 'exists' | '!' | 'in' | 'notin' | '>' | '<';
  readonly values: readonly string[];
}

/** All requirements must hold; none selects everything. */
export type Selector = readonly Requirement[];

const WORD = String.raw`[^\s=!(),<>]+`;
/** Of a text without blanks around it. */
const REQUIREMENT = new RegExp(
  String.raw`^(?:!\s*(?<absent>${WORD})|(?<key>${WORD})` +
    String.raw`(?:\s*(?<sign>==?|!=|[<>])(?:\s*(?<value>${WORD}))?|\s+(?<set>in|notin)\s*\((?<values>[^()]*)\))?)$`,
);
const FORMS = 'k, !k, k=v, k!=v, k in (a,b), k notin (a,b), k>1 or k<1';

export function parseSelector(text: string): { readonly selector: Selector } | { readonly error: string } {
  if (text.trim() === '') return { selector: [] };
  const selector: Requirement[] = [];
  // The commas inside `in (a,b)` separate values.
  for (const part of requirementsIn(text)) {
    const requirement = requirementIn(part);
    if (requirement === undefined) return { error: `expected ${FORMS} and not ${JSON.stringify(part)}` };
    const error = requirementProblem(requirement);
    if (error !== undefined) return { error };
    selector.push(requirement);
  }
  return { selector };
}

function requirementsIn(text: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  let isInside = false;
  for (let at = 0; at <= text.length; at += 1) {
    if (text[at] === '(') isInside = true;
    else if (text[at] === ')') isInside = false;
    const isEnd = at === text.length || (text[at] === ',' && !isInside);
    if (!isEnd) continue;
    parts.push(text.slice(from, at).trim());
    from = at + 1;
  }
  return parts;
}

function requirementIn(part: string): Requirement | undefined {
  const { absent, key, sign, value = '', set, values = '' } = REQUIREMENT.exec(part)?.groups ?? {};
  if (absent !== undefined) return { key: absent, operator: '!', values: [] };
  if (key === undefined) return undefined;
  if (set === 'in' || set === 'notin') {
    const list = values.split(',').map((each) => each.trim());
    return values.trim() === '' ? undefined : { key, operator: set, values: [...new Set(list)] };
  }
  if (sign === undefined) return { key, operator: 'exists', values: [] };
  if (sign === '<' || sign === '>') return { key, operator: sign, values: [value] };
  return { key, operator: sign === '!=' ? 'notin' : 'in', values: [value] };
}

/** Whether labels satisfy every requirement. As in Kubernetes a missing label satisfies `!=` and `notin`. */
export function matches(selector: Selector, labels: Labels): boolean {
  if (selector.length < WORTH_AN_INDEX) return holds(selector, labels);
  const last = lastAnswers.get(selector);
  if (last?.labels === labels) return last.holds;
  const answer = { labels, holds: holds(selector, labels) };
  lastAnswers.set(selector, answer);
  return answer.holds;
}

type Labels = Readonly<Record<string, string>>;

/** A change of one source is judged for each target of a ReloaderConfig, with the same selector and the same labels. */
const lastAnswers = new WeakMap<Selector, { readonly labels: Labels; readonly holds: boolean }>();

const holds = (selector: Selector, labels: Labels): boolean =>
  selector.every((each) => satisfies(each, Object.hasOwn(labels, each.key) ? labels[each.key] : undefined));

function satisfies({ operator, values }: Requirement, value: string | undefined): boolean {
  const [bound = '0'] = values;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'in':
      return value !== undefined && isAmong(values, value);
    case 'notin':
      return value === undefined || !isAmong(values, value);
    case '>':
      return value !== undefined && INTEGER.test(value) && BigInt(value) > BigInt(bound);
    case '<':
      return value !== undefined && INTEGER.test(value) && BigInt(value) < BigInt(bound);
  }
}

const isAmong = (values: readonly string[], value: string): boolean =>
  values.length < WORTH_AN_INDEX ? values.includes(value) : setOf(values).has(value);

const setOf = indexOnce((values: readonly string[]) => new Set(values));

const INTEGER = /^[-+]?\d{1,18}$/;
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** What the API server would refuse. */
export const requirementProblem = (requirement: Requirement): string | undefined =>
  keyProblem(requirement) ?? valueProblem(requirement);

function keyProblem({ key }: Requirement): string | undefined {
  const slash = key.indexOf('/');
  const prefix = key.slice(0, Math.max(slash, 0));
  const prefixed = slash < 0 || isSubdomain(prefix);
  return prefixed && NAME.test(key.slice(slash + 1)) ? undefined : `${quote(key)} is no label key`;
}

function valueProblem({ key, operator, values }: Requirement): string | undefined {
  if (operator === '>' || operator === '<') {
    const odd = values.find((value) => !INTEGER.test(value));
    return odd === undefined ? undefined : `${quote(key)} can only be compared with a whole number, not ${quote(odd)}`;
  }
  const odd = values.find((value) => value !== '' && !NAME.test(value));
  return odd === undefined ? undefined : `${quote(odd)} is no label value`;
}

const OPERATORS: ReadonlyMap<string, (key: string, values: string) => string> = new Map([
  ['In', (key: string, values: string) => `${key} in (${values})`],
  ['NotIn', (key: string, values: string) => `${key} notin (${values})`],
  ['Exists', (key: string) => key],
  ['DoesNotExist', (key: string) => `!${key}`],
]);

/** The selector in the spec of a workload, as the server takes it in a query; '' selects everything. */
export function selectorText(value: unknown): string {
  const { matchLabels, matchExpressions, ...plain } = objectIn(value) as Record<string, unknown>;
  const labels = Object.entries(objectIn(matchLabels ?? plain)).map(([key, each]) => `${key}=${textIn(each)}`);
  const expressions = listIn(matchExpressions).flatMap((each) => {
    const { key, operator, values } = objectIn(each) as Record<string, unknown>;
    const written = OPERATORS.get(textIn(operator))?.(textIn(key), listIn(values).map(textIn).join(','));
    return written === undefined ? [] : [written];
  });
  return [...labels, ...expressions].join(',');
}
