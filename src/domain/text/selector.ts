import { listIn, objectIn, textIn } from '../../api/json.ts';

/** Kubernetes label selectors: `k`, `!k`, `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k>1`, `k<1`. */
interface Requirement {
  readonly key: string;
  readonly operator: 'exists' | '!' | 'in' | 'notin' | '>' | '<';
  readonly values: readonly string[];
}

/** All requirements must hold; none selects everything. */
export type Selector = readonly Requirement[];

export type ParsedSelector = { readonly selector: Selector } | { readonly error: string };

export function parseSelector(text: string): ParsedSelector {
  const tokens = text.match(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g) ?? [];
  const selector: Requirement[] = [];
  let at = 0;
  while (at < tokens.length) {
    const parsed = requirementAt(tokens, at);
    if ('error' in parsed) return parsed;
    const error = keyProblem(parsed.requirement) ?? valueProblem(parsed.requirement);
    if (error !== undefined) return { error };
    selector.push(parsed.requirement);
    at = parsed.next;
    if (at === tokens.length) break;
    if (tokens[at] !== ',') return { error: `expected "," before ${JSON.stringify(tokens[at])}` };
    at += 1;
    if (at === tokens.length) return { error: 'expected a label key after ","' };
  }
  return { selector };
}

/** Whether labels satisfy every requirement. As in Kubernetes a missing label satisfies `!=` and `notin`. */
export function matches(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return selector.every((requirement) => {
    const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
    return satisfies(requirement, value);
  });
}

function satisfies({ operator, values }: Requirement, value: string | undefined): boolean {
  const [bound = '0'] = values;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case '>':
      return value !== undefined && INTEGER.test(value) && BigInt(value) > BigInt(bound);
    case '<':
      return value !== undefined && INTEGER.test(value) && BigInt(value) < BigInt(bound);
  }
}

type ParsedRequirement = { readonly requirement: Requirement; readonly next: number } | { readonly error: string };

function requirementAt(tokens: readonly string[], start: number): ParsedRequirement {
  const negated = tokens[start] === '!';
  const at = negated ? start + 1 : start;
  const key = tokens[at];
  if (key === undefined || isSign(key)) return { error: `expected a label key${before(key)}` };
  const operator = tokens[at + 1];
  if (negated) return { requirement: { key, operator: '!', values: [] }, next: at + 1 };
  switch (operator) {
    case undefined:
    case ',':
      return { requirement: { key, operator: 'exists', values: [] }, next: at + 1 };
    case '=':
    case '==':
      return singleValue(tokens, at + 2, { key, operator: 'in' });
    case '!=':
      return singleValue(tokens, at + 2, { key, operator: 'notin' });
    case '>':
    case '<':
      return singleValue(tokens, at + 2, { key, operator });
    case 'in':
    case 'notin':
      return valueList(tokens, at + 2, { key, operator });
    default:
      return { error: `expected one of =, ==, !=, in, notin, >, < after "${key}"${before(operator)}` };
  }
}

type Head = Pick<Requirement, 'key' | 'operator'>;

/** `k=` means the empty value. */
function singleValue(tokens: readonly string[], at: number, head: Head): ParsedRequirement {
  const value = tokens[at];
  if (value === undefined || value === ',') return { requirement: { ...head, values: [''] }, next: at };
  if (isSign(value)) return { error: `expected a value for "${head.key}"${before(value)}` };
  return { requirement: { ...head, values: [value] }, next: at + 1 };
}

function valueList(tokens: readonly string[], start: number, head: Head): ParsedRequirement {
  if (tokens[start] !== '(') return { error: `expected "(" after "${head.key} ${head.operator}"` };
  const end = tokens.indexOf(')', start);
  if (end < 0) return { error: `expected ")" to close the values of "${head.key}"` };
  const inner = tokens.slice(start + 1, end);
  const values = inner
    .join(' ')
    .split(',')
    .map((value) => value.trim());
  if (inner.length === 0) return { error: `the values of "${head.key}" must not be empty` };
  if (inner.some((token) => isSign(token) && token !== ',') || values.some((value) => value.includes(' '))) {
    return { error: `expected values separated by "," within the "(" and ")" of "${head.key}"` };
  }
  return { requirement: { ...head, values: [...new Set(values)] }, next: end + 1 };
}

const isSign = (token: string): boolean => /^(?:==|!=|[=!(),<>])$/.test(token);
const before = (token: string | undefined): string => (token === undefined ? '' : ` before ${JSON.stringify(token)}`);

const INTEGER = /^[-+]?\d{1,18}$/;
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** What the API server would refuse. */
function keyProblem({ key }: Requirement): string | undefined {
  const slash = key.indexOf('/');
  const prefix = key.slice(0, Math.max(slash, 0));
  const prefixed = slash < 0 || (prefix.length <= 253 && PREFIX.test(prefix));
  return prefixed && NAME.test(key.slice(slash + 1)) ? undefined : `"${key}" is no label key`;
}

function valueProblem({ key, operator, values }: Requirement): string | undefined {
  if (operator === '>' || operator === '<') {
    const odd = values.find((value) => !INTEGER.test(value));
    return odd === undefined ? undefined : `"${key}" can only be compared with a whole number, not "${odd}"`;
  }
  const odd = values.find((value) => value !== '' && !NAME.test(value));
  return odd === undefined ? undefined : `"${odd}" is no label value`;
}

const OPERATORS: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** The selector in the spec of a workload, as the server takes it in a query; '' selects everything. */
export function selectorText(value: unknown): string {
  const { matchLabels, matchExpressions, ...plain } = objectIn(value) as Record<string, unknown>;
  const labels = Object.entries(objectIn(matchLabels ?? plain)).map(([key, each]) => `${key}=${textIn(each)}`);
  const expressions = listIn(matchExpressions).flatMap((each) => {
    const { key, operator, values } = objectIn(each) as Record<string, unknown>;
    const written = OPERATORS[textIn(operator)]?.(textIn(key), listIn(values).map(textIn).join(','));
    return written === undefined ? [] : [written];
  });
  return [...labels, ...expressions].join(',');
}
