import { listIn, objectIn, textIn } from '../../api/json.ts';
import { type Requirement, requirementProblem, type Selector } from './selector.ts';

/** What is wrong with a part of a selector, by the path of the part. */
export interface SelectorProblem {
  readonly path: string;
  readonly message: string;
}

/** Matches no labels at all. */
export const NOTHING: Selector = [{ key: 'never', operator: 'in', values: [] }];

const OPERATORS = new Map<unknown, Requirement['operator']>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

/** A LabelSelector of an API object. With a problem in it, it means nothing that could be relied on: undefined. */
export function parseLabelSelector(
  value: unknown,
  path: string,
  report: (problem: SelectorProblem) => void,
): Selector | undefined {
  let isSound = true;
  const refuse = (problem: SelectorProblem): void => {
    isSound = false;
    report(problem);
  };
  const { matchLabels, matchExpressions } = objectIn(value) as Record<string, unknown>;
  if (objectIn(value) !== value) refuse({ path, message: 'must be an object with matchLabels or matchExpressions' });
  const excess = tooMany(matchLabels, listIn(matchExpressions));
  if (excess !== undefined) {
    report({ path, message: excess });
    return undefined;
  }
  const selector = [
    ...labelRequirements(matchLabels, `${path}.matchLabels`, refuse),
    ...expressionRequirements(matchExpressions, `${path}.matchExpressions`, refuse),
  ];
  return isSound ? selector : undefined;
}

/** Labels that must be there with these values; with a problem in them nothing can have them. */
export function parseLabels(value: unknown, path: string, report: (problem: SelectorProblem) => void): Selector {
  const excess = tooMany(value, []);
  if (excess !== undefined) {
    report({ path, message: excess });
    return NOTHING;
  }
  let isSound = true;
  const selector = labelRequirements(value, path, (problem) => {
    isSound = false;
    report(problem);
  });
  return isSound ? selector : NOTHING;
}

// Each change of a source, whose labels can be many, is compared with all of them.
const MOST_REQUIREMENTS = 100;
const MOST_VALUES = 1000;

/** Undefined if there are not too many requirements and values. */
function tooMany(labels: unknown, expressions: readonly unknown[]): string | undefined {
  const requirements = Object.keys(objectIn(labels)).length + expressions.length;
  if (requirements > MOST_REQUIREMENTS) {
    return `may have at most ${MOST_REQUIREMENTS} requirements, not ${requirements}`;
  }
  const values = expressions.reduce<number>((sum, each) => sum + listIn(objectIn(each)['values']).length, 0);
  return values > MOST_VALUES ? `may have at most 1,000 values, not ${values}` : undefined;
}

type Refuse = (problem: SelectorProblem) => void;

function labelRequirements(value: unknown, path: string, refuse: Refuse): Selector {
  if (value === undefined || value === null) return [];
  if (objectIn(value) !== value) refuse({ path, message: 'must be a map of label keys and values' });
  return Object.entries(objectIn(value)).map(([key, label]) => {
    const requirement: Requirement = { key, operator: 'in', values: [textIn(label)] };
    const message = typeof label === 'string' ? requirementProblem(requirement) : 'must be a text: put it in quotes';
    if (message !== undefined) refuse({ path: `${path}[${JSON.stringify(key)}]`, message });
    return requirement;
  });
}

function expressionRequirements(value: unknown, path: string, refuse: Refuse): Selector {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) refuse({ path, message: 'must be a list of {key, operator, values}' });
  return (Array.isArray(value) ? value : []).flatMap((each: unknown, index) => {
    const { key, operator: word, values } = objectIn(each) as Record<string, unknown>;
    const operator = OPERATORS.get(word);
    const here = `${path}[${index}]`;
    if (operator === undefined) {
      refuse({ path: `${here}.operator`, message: `must be one of ${[...OPERATORS.keys()].join(', ')}` });
      return [];
    }
    const given: readonly unknown[] = Array.isArray(values) ? values : [];
    const requirement: Requirement = { key: textIn(key), operator, values: given.map(textIn) };
    const message = requirementProblem(requirement) ?? valuesProblem(String(word), operator, given);
    if (message !== undefined) refuse({ path: here, message });
    return [requirement];
  });
}

function valuesProblem(
  word: string,
  operator: Requirement['operator'],
  values: readonly unknown[],
): string | undefined {
  if (values.some((each) => typeof each !== 'string')) return 'values must be texts: put them in quotes';
  if (operator === 'in' || operator === 'notin') return values.length > 0 ? undefined : `${word} needs values`;
  return values.length === 0 ? undefined : `${word} takes no values`;
}
