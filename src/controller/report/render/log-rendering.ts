import type { SourceRef } from '../../../api/sources.ts';
import { inactionOf } from '../../../domain/judge/effect.ts';
import type {
  Failed,
  Paused,
  Refused,
  Replaced,
  Resumed,
  Rolled,
  SettledByAnotherWriter,
  Skipped,
} from '../../../domain/outcome/outcome.ts';
import type { Workload } from '../../../domain/workload/workload.ts';
import type { Log, LogFields } from '../../../telemetry/log.ts';
import type { Renderer } from '../outcome-feed.ts';
import { causeWords, nameOf, problemWords, revertedWords, updatedWords } from './outcome-words.ts';
import { listed, listedIds } from './source-list.ts';

const WITHIN_MINUTES = 'within minutes, or at once when its template or annotations change';

/** Outcomes as lines of the log. */
export function logRendering(log: Log): Renderer {
  const settled = settledLines(log);
  return (outcome) => {
    const { workload } = outcome;
    const name = nameOf(workload.ref);
    switch (outcome.is) {
      case 'rolled':
      case 'replaced':
        rolledLines(log, outcome);
        break;
      case 'skipped':
        skippedLine(log, outcome);
        break;
      case 'failed':
      case 'refused':
        failedLine(log, outcome);
        break;
      case 'settled-by-another-writer':
        settled(outcome);
        break;
      case 'reverted':
      case 'undelivered':
        log.warn(`${name}: ${revertedWords(outcome)}`, fieldsOf(workload, outcome.sources));
        break;
      case 'paused':
      case 'resumed':
        pauseLine(log, outcome);
        break;
      case 'not-resumed':
        log.error(`${name} is still paused: ${outcome.error}`, { ...fieldsOf(workload), retry: 'soon' });
        break;
      case 'invalid':
        for (const problem of outcome.problems) log.error(`${name}: ${problemWords(problem)}`, fieldsOf(workload));
        break;
      default:
        outcome satisfies never;
    }
  };
}

/** One line, however many sources: which they all are is in lines for those who ask for details. */
function rolledLines(log: Log, outcome: Rolled | Replaced): void {
  const { workload, changes } = outcome;
  const [first, ...more] = changes;
  if (!first) return;
  const line = (some: readonly SourceRef[]): string => `${causeWords(some)}; updated ${updatedWords(outcome)}`;
  const refs = changes.map(({ ref }) => ref);
  const fields = { ...fieldsOf(workload, refs), job: outcome.is === 'rolled' ? outcome.job?.name : undefined };
  if (more.length === 0) {
    log.info(line(refs), { ...fields, reason: first.verdict.because, rule: first.verdict.rule });
    return;
  }
  log.info(line(refs), { ...fields, sources: changes.length });
  for (const { ref, verdict } of changes) {
    log.debug(line([ref]), { ...fieldsOf(workload, [ref]), reason: verdict.because, rule: verdict.rule });
  }
}

function skippedLine(log: Log, { workload, changes, why }: Skipped): void {
  const name = nameOf(workload.ref);
  const refs = changes.map(({ ref }) => ref);
  if (why === 'nothing-to-write') log.debug(`no changes detected for ${name}`, fieldsOf(workload, refs));
  // That the Jobs of a CronJob go on surprises nobody.
  if (why === 'nothing-to-write' || workload.owner?.kind === 'CronJob') return;
  const { rule, cure } = inactionOf(workload);
  log.info(`${name} will not run for what changed: ${rule}`, { ...fieldsOf(workload, refs), cure });
}

function failedLine(log: Log, outcome: Failed | Refused): void {
  const { workload, changes, error } = outcome;
  const refs = changes.map(({ ref }) => ref);
  log.error(`Rolling upgrade for '${refs[0]?.name ?? ''}' failed with error = ${error}`, {
    ...fieldsOf(workload, refs),
    retry: outcome.is === 'failed' ? outcome.retry : WITHIN_MINUTES,
  });
}

/** A new template settles many sources, which are told one after the other: one line for all of them. */
function settledLines(log: Log): (outcome: SettledByAnotherWriter) => void {
  const soon = new Map<string, SourceRef[]>();
  return ({ workload, sources }) => {
    const { uid, ref } = workload;
    const line = (some: readonly SourceRef[]): string =>
      `${nameOf(ref)} already rolls for ${listed(some)}: its template changed after it`;
    for (const source of sources) log.debug(line([source]), fieldsOf(workload, [source]));
    const waiting = soon.get(uid);
    if (waiting) {
      waiting.push(...sources);
      return;
    }
    const refs = [...sources];
    soon.set(uid, refs);
    queueMicrotask(() => {
      soon.delete(uid);
      log.info(line(refs), fieldsOf(workload, refs));
    });
  };
}

function pauseLine(log: Log, outcome: Paused | Resumed): void {
  const { ref } = outcome.workload;
  if (outcome.is === 'paused') {
    const until = new Date(outcome.until).toISOString();
    const line = `${nameOf(ref)} paused by its pause period until ${until}: its pods stay as they are until then`;
    log.info(line, { ...ref, until });
    return;
  }
  const why = outcome.by === 'us' ? 'its pause period is over' : 'another writer ended its pause period';
  log.info(`${nameOf(ref)} resumed: ${why}`, { ...ref });
}

/** The same fields in every line about a workload: whoever looks for it finds all of them. */
export const fieldsOf = ({ ref }: Workload, sources: readonly SourceRef[] = []): LogFields => ({
  ...ref,
  source: sources.length === 0 ? undefined : listedIds(sources),
});
