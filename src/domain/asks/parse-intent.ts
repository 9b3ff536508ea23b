import { ON_CHANGE } from '../../api/annotations.ts';
import type { KindName } from '../../api/kinds.ts';
import { SOURCE_KINDS } from '../../api/sources.ts';
import type { Intent, Problem, Refusal } from './ask.ts';
import { type Annotated, type Dialect, parseAnnotations } from './workload-annotations.ts';
import { parseSettings } from './workload-settings.ts';

const NONE: readonly Problem[] = [];

const LEFT_ALONE: Refusal = {
  because: 'on-change-ignore',
  origin: { by: 'annotation', place: 'metadata', key: ON_CHANGE, value: 'ignore' },
  kinds: SOURCE_KINDS,
  names: undefined,
};

/** What the annotations of a workload and of its pod template ask for, in every dialect. Takes any text; never throws. */
export function parseIntent(kind: KindName, workload: Annotated, dialect: Dialect): Intent {
  const problems: Problem[] = [];
  const { asks, refusals, silentOn } = parseAnnotations(workload, dialect, problems);
  const settings = parseSettings({ kind, annotations: workload.annotations, problems }, dialect.keys);
  return {
    asks,
    refusals: settings.onChange === 'ignore' ? [...refusals, LEFT_ALONE] : refusals,
    silentOn,
    ...settings,
    problems: distinct(problems),
  };
}

/** A key that is read once for each kind of source is reported once. */
function distinct(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length === 0) return NONE;
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
}
