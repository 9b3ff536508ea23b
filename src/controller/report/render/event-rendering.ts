import { OUTCOME, SOURCES } from '../../../api/annotations.ts';
import { kindNamed } from '../../../api/kinds.ts';
import type { SourceKind, SourceRef } from '../../../api/sources.ts';
import type { Outcome, OutcomeOf } from '../../../domain/outcome/outcome.ts';
import type { EventPost } from '../../../kube/events/event-post.ts';
import type { Rendering } from '../outcome-feed.ts';
import { causeWords, problemWords, quoted, rememberedWords, revertedWords, updatedWords } from './outcome-words.ts';
import { carried } from './source-list.ts';

const COMPONENT: Readonly<Record<SourceKind, string>> = {
  ConfigMap: 'reloader-configmaps',
  Secret: 'reloader-secrets',
  SecretProviderClass: 'reloader-secretproviderclasspodstatuses',
};

/** Outcomes as Events on the workload. */
export function eventRendering(post: (event: EventPost) => void): Rendering {
  const rolled = (outcome: OutcomeOf<'rolled' | 'replaced'>): void => {
    const refs = outcome.changes.map(({ ref }) => ref);
    const message = `${causeWords(refs)}, Updated ${updatedWords(outcome)}`;
    post(eventAbout(outcome, { type: 'Normal', reason: 'Reloaded', message }, refs));
  };
  const failed = (outcome: OutcomeOf<'failed' | 'refused'>): void => {
    const refs = outcome.changes.map(({ ref }) => ref);
    const message = `Update for ${quoted(outcome.workload)} failed with error ${outcome.error}`;
    post(eventAbout(outcome, { type: 'Warning', reason: 'ReloadFail', message }, refs));
  };
  const reverted = (outcome: OutcomeOf<'reverted' | 'undelivered'>): void => {
    const message = revertedWords(outcome);
    post(eventAbout(outcome, { type: 'Warning', reason: 'ReloadReverted', message }, outcome.sources));
  };
  const invalid = (outcome: OutcomeOf<'invalid'>): void => {
    for (const problem of outcome.problems) {
      const message = problemWords(problem);
      post(eventAbout(outcome, { type: 'Warning', reason: 'InvalidAnnotation', message }, []));
    }
  };
  const partly = (outcome: OutcomeOf<'partly-remembered'>): void => {
    const message = rememberedWords(outcome);
    post(eventAbout(outcome, { type: 'Warning', reason: 'LedgerLimit', message }, []));
  };
  return {
    ...{ rolled, replaced: rolled, failed, refused: failed, reverted, undelivered: reverted, invalid },
    'partly-remembered': partly,
  };
}

function eventAbout(
  outcome: Outcome,
  words: Pick<EventPost, 'type' | 'reason' | 'message'>,
  sources: readonly SourceRef[],
): EventPost {
  const { ref, uid } = outcome.workload;
  const kind = kindNamed(ref.kind);
  const apiVersion = kind?.group ? `${kind.group}/${kind.version}` : 'v1';
  const [first] = sources;
  return {
    // The Job with the former uid is deleted, and nobody looks at its Events.
    regarding: { apiVersion, ...ref, uid: outcome.is === 'replaced' ? outcome.job.uid : uid },
    ...words,
    component: first ? COMPONENT[first.kind] : 'reloader',
    annotations: { [OUTCOME]: outcome.is, ...(first && { [SOURCES]: carried(sources, ref.namespace) }) },
  };
}
