import type { SourceRef } from '../../../api/sources.ts';
import { inactionOf } from '../../../domain/judge/effect.ts';
import type { OutcomeOf } from '../../../domain/outcome/outcome.ts';
import type { Workload } from '../../../domain/workload/workload.ts';
import type { Log, LogFields } from '../../../telemetry/log.ts';
import type { Rendering } from '../outcome-feed.ts';
import { causeWords, nameOf, problemWords, rememberedWords, revertedWords, updatedWords } from './outcome-words.ts';
import { listed, listedIds } from './source-list.ts';

const WITHIN_MINUTES = 'within minutes, or at once when its template or annotations change';

/** Outcomes as lines of the log: there is one for each. */
export function logRendering(log: Log): Required<Rendering> {
  const rolled = (outcome: OutcomeOf<'rolled' | 'replaced'>): void => rolledLines(log, outcome);
  const failed = ({ workload, changes, error }: OutcomeOf<'failed' | 'refused'>, retry: string): void => {
    const line = `Rolling upgrade for '${changes[0]?.ref.name ?? ''}' failed with error = ${error}`;
    log.error(line, { ...fieldsOf(workload, changes.map(refOf)), retry });
  };
  const reverted = (outcome: OutcomeOf<'reverted' | 'undelivered'>): void => {
    const { workload, sources } = outcome;
    log.warn(`${nameOf(workload)}: ${revertedWords(outcome)}`, fieldsOf(workload, sources));
  };
  return {
    rolled,
    replaced: rolled,
    skipped: (outcome) => skippedLine(log, outcome),
    failed: (outcome) => failed(outcome, outcome.retry),
    refused: (outcome) => failed(outcome, WITHIN_MINUTES),
    'settled-by-another-writer': settledLines(log),
    reverted,
    undelivered: reverted,
    paused({ workload, until: ms }) {
      const until = new Date(ms).toISOString();
      const line = `${nameOf(workload)} paused by its pause period until ${until}: its pods stay as they are until then`;
      log.info(line, { ...fieldsOf(workload), until });
    },
    resumed({ workload, by }) {
      const why = by === 'us' ? 'its pause period is over' : 'another writer ended its pause period';
      log.info(`${nameOf(workload)} resumed: ${why}`, fieldsOf(workload));
    },
    'not-resumed'({ workload, error }) {
      log.error(`${nameOf(workload)} is still paused: ${error}`, { ...fieldsOf(workload), retry: 'soon' });
    },
    'partly-remembered'(outcome) {
      log.warn(`${nameOf(outcome.workload)}: ${rememberedWords(outcome)}`, fieldsOf(outcome.workload));
    },
    invalid({ workload, problems }) {
      for (const problem of problems) log.error(`${nameOf(workload)}: ${problemWords(problem)}`, fieldsOf(workload));
    },
  };
}

/** One line, however many sources: which they all are is in lines for those who ask for details. */
function rolledLines(log: Log, outcome: OutcomeOf<'rolled' | 'replaced'>): void {
  const { workload, changes } = outcome;
  const [first, ...more] = changes;
  if (!first) return;
  const line = (refs: readonly SourceRef[]): string => `${causeWords(refs)}; updated ${updatedWords(outcome)}`;
  const all = changes.map(refOf);
  const fields = { ...fieldsOf(workload, all), job: outcome.is === 'rolled' ? outcome.job?.name : undefined };
  if (more.length === 0) {
    log.info(line(all), { ...fields, reason: first.verdict.because, rule: first.verdict.rule });
    return;
  }
  log.info(line(all), { ...fields, sources: changes.length });
  for (const { ref, verdict } of changes) {
    log.debug(line([ref]), { ...fieldsOf(workload, [ref]), reason: verdict.because, rule: verdict.rule });
  }
}

function skippedLine(log: Log, { workload, changes, why }: OutcomeOf<'skipped'>): void {
  const fields = fieldsOf(workload, changes.map(refOf));
  if (why === 'nothing-to-write') log.debug(`no changes detected for ${nameOf(workload)}`, fields);
  if (why === 'deleted') log.info(`${nameOf(workload)} is not replaced: somebody else deleted it`, fields);
  // That the Jobs of a CronJob go on surprises nobody.
  if (why !== 'left-alone' || workload.owner?.kind === 'CronJob') return;
  const { rule, cure } = inactionOf(workload);
  log.info(`${nameOf(workload)} will not run for what changed: ${rule}`, { ...fields, cure });
}

/** A new template settles many sources, which are told one after the other: one line for all of them. */
function settledLines(log: Log): Required<Rendering>['settled-by-another-writer'] {
  const soon = new Map<string, SourceRef[]>();
  return ({ workload, sources }) => {
    const { uid } = workload;
    const line = (refs: readonly SourceRef[]): string =>
      `${nameOf(workload)} already rolls for ${listed(refs)}: its template changed after it`;
    for (const source of sources) log.debug(line([source]), fieldsOf(workload, [source]));
    const others = soon.get(uid);
    if (others) {
      others.push(...sources);
      return;
    }
    const all = [...sources];
    soon.set(uid, all);
    queueMicrotask(() => {
      soon.delete(uid);
      log.info(line(all), fieldsOf(workload, all));
    });
  };
}

const refOf = ({ ref }: { readonly ref: SourceRef }): SourceRef => ref;

/** The same fields in every line about a workload: whoever looks for it finds all of them. */
export const fieldsOf = ({ ref }: Workload, sources: readonly SourceRef[] = []): LogFields => ({
  ...ref,
  source: sources.length === 0 ? undefined : listedIds(sources, ref.namespace),
});
