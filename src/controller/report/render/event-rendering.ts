import { OUTCOME, SOURCES } from '../../../api/annotations.ts';
import { kindNamed } from '../../../api/kinds.ts';
import type { SourceKind, SourceRef } from '../../../api/sources.ts';
import type { Outcome } from '../../../domain/outcome/outcome.ts';
import type { EventPost } from '../../../kube/events/event-post.ts';
import type { Renderer } from '../outcome-feed.ts';
import { causeWords, problemWords, quoted, revertedWords, updatedWords } from './outcome-words.ts';
import { carried } from './source-list.ts';

const COMPONENT: Readonly<Record<SourceKind, string>> = {
  ConfigMap: 'reloader-configmaps',
  Secret: 'reloader-secrets',
  SecretProviderClass: 'reloader-secretproviderclasspodstatuses',
};

export interface EventDeps {
  readonly post: (event: EventPost) => void;
  readonly compat: boolean;
}

/** Outcomes as Events on the workload. */
export function eventRendering({ post, compat }: EventDeps): Renderer {
  /** Events that upstream has as well look as upstream's under compat. */
  const postShared = (event: EventPost): void => post(compat ? { ...event, annotations: undefined } : event);
  return (outcome) => {
    switch (outcome.is) {
      case 'rolled':
      case 'replaced': {
        const refs = outcome.changes.map(({ ref }) => ref);
        const message = `${causeWords(refs)}, Updated ${updatedWords(outcome)}`;
        if (refs.length > 0) postShared(eventAbout(outcome, { type: 'Normal', reason: 'Reloaded', message }, refs));
        break;
      }
      case 'failed':
      case 'refused': {
        const message = `Update for ${quoted(outcome.workload.ref)} failed with error ${outcome.error}`;
        const refs = outcome.changes.map(({ ref }) => ref);
        postShared(eventAbout(outcome, { type: 'Warning', reason: 'ReloadFail', message }, refs));
        break;
      }
      case 'reverted':
      case 'undelivered': {
        const message = revertedWords(outcome);
        post(eventAbout(outcome, { type: 'Warning', reason: 'ReloadReverted', message }, outcome.sources));
        break;
      }
      case 'invalid':
        for (const problem of outcome.problems) {
          const message = problemWords(problem);
          post(eventAbout(outcome, { type: 'Warning', reason: 'InvalidAnnotation', message }, []));
        }
        break;
      case 'skipped':
      case 'settled-by-another-writer':
      case 'paused':
      case 'resumed':
      case 'not-resumed':
        break;
      default:
        outcome satisfies never;
    }
  };
}

function eventAbout(
  outcome: Outcome,
  words: Pick<EventPost, 'type' | 'reason' | 'message'>,
  sources: readonly SourceRef[],
): EventPost {
  const { ref, uid } = outcome.workload;
  const kind = kindNamed(ref.kind);
  const [first] = sources;
  return {
    regarding: {
      apiVersion: kind?.group ? `${kind.group}/${kind.version}` : 'v1',
      ...ref,
      // The Job with the former uid is deleted, and nobody looks at its Events.
      uid: outcome.is === 'replaced' ? outcome.job.uid : uid,
    },
    ...words,
    component: first ? COMPONENT[first.kind] : 'reloader',
    annotations: { [OUTCOME]: outcome.is, ...(first && { [SOURCES]: carried(sources) }) },
  };
}
