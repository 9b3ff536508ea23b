import type { YesReason } from '../asks/ask.ts';
import type { NoReason } from './verdict.ts';

/** What each word means. `docs/reasons.md` is this table; log, metrics, Events and `explain` use the words. */
export const YES_REASONS: Readonly<Record<YesReason, string>> = {
  named: 'The named list of the workload has an element that matches the source.',
  'search-match': 'The workload searches, the source carries the match annotation, and a container uses it.',
  auto: 'The workload asked for every source that it uses, and a container uses this one.',
  'typed-auto': 'The workload asked for every source of this kind that it uses, and a container uses this one.',
  'auto-reload-all': 'No annotation speaks, `--auto-reload-all` is set, and a container uses the source.',
};

export const NO_REASONS: Readonly<Record<NoReason, { readonly text: string; readonly cure: string }>> = {
  'kind-ignored': {
    text: 'Workloads of this kind are left out by `--ignored-workload-types`.',
    cure: 'Take the kind out of the flag.',
  },
  'source-ignored': {
    text: 'The source carries the ignore annotation with the exact text `true`.',
    cure: 'Remove the annotation from the source.',
  },
  excluded: {
    text: 'The exclude list of the workload has the name of the source.',
    cure: 'Take the name out of the list.',
  },
  'auto-false': {
    text: '`auto: "false"` on the workload forbids every reload, whatever else is set. Not under `--compat=stakater`.',
    cure: 'Set it to `"true"`, or replace it by a named list.',
  },
  'on-change-ignore': {
    text: 'The CronJob or Job asked to be left alone with `attune.dev/on-change: ignore`.',
    cure: 'Set the annotation to `run`, or remove it.',
  },
  'not-used': {
    text: 'The workload asked for what it uses, and no container uses the source. A volume that is not mounted does not count.',
    cure: 'Use the source in a container, or put its name in the named list.',
  },
  'search-without-match': {
    text: 'The workload searches, but the source does not carry the match annotation with the exact text `true`.',
    cure: 'Set the match annotation on the source.',
  },
  'not-asked': {
    text: 'No annotation of the workload or of its pod template asks for the source.',
    cure: 'Set `auto: "true"`, or put the name in the named list.',
  },
  'invalid-annotation': {
    text: 'An annotation that decides how to reload cannot be read, so nothing is done until it is mended.',
    cure: 'Mend or remove the annotation that the Event names.',
  },
};
