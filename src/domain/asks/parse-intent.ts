import type { KindName } from '../../api/kinds.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import type { Ask, Intent, Problem } from './ask.ts';
import { countNamesOf, MOST_NAMES, TOO_MANY_NAMES, withinNames } from './name-budget.ts';
import { parseLists } from './sap-annotations.ts';
import { type Annotated, type Dialect, type Found, parseAnnotations } from './workload-annotations.ts';
import { parseSettings } from './workload-settings.ts';

const NONE: readonly never[] = [];

/** What the annotations of a workload and of its pod template ask for, in every dialect. Takes any text; never throws. */
export function parseIntent(kind: KindName, workload: Annotated, dialect: Dialect): Intent {
  const found: Found = { asks: [], refusals: [], problems: [] };
  for (const source of SOURCE_KINDS) parseAnnotations(source, workload, dialect, found);
  // The first ask that wants a source decides: where both dialects want it, that is Stakater's.
  parseLists(kind, workload, dialect, found);
  const settings = parseSettings(kind, workload.annotations, dialect.keys, found);
  const asks = limited(found);
  return {
    asks,
    refusals: found.refusals.length === 0 ? NONE : found.refusals,
    ...settings,
    problems: found.problems.length === 0 ? NONE : distinct(found.problems),
  };
}

function limited({ asks, problems }: Found): readonly Ask[] {
  // A copy: an array that has grown keeps room for more, in every workload.
  if (countNamesOf(asks) <= MOST_NAMES) return asks.slice();
  const within = withinNames({ asks }, MOST_NAMES, TOO_MANY_NAMES);
  problems.push(...within.problems);
  return within.asks;
}

/** A key that is read for each kind of source is reported once. */
const distinct = (problems: readonly Problem[]): readonly Problem[] => [
  ...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values(),
];
