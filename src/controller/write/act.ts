import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SourceRef } from '../../api/sources.ts';
import { namedIn, type Strategy } from '../../domain/asks/ask.ts';
import { actionFor } from '../../domain/judge/effect.ts';
import type { Policy, Verdict } from '../../domain/judge/verdict.ts';
import type { Applied, Difference, SourceId } from '../../domain/ledger/ledger.ts';
import { pauseStep } from '../../domain/plan/pause.ts';
import { variableName } from '../../domain/template/marks.ts';
import { type Patch, patchOf } from '../../domain/template/patch.ts';
import { digestAfter } from '../../domain/template/template-digest.ts';
import { editTemplate, type TemplateEdit } from '../../domain/template/template-edit.ts';
import { formatTime } from '../../domain/text/rfc3339.ts';
import { tellsRollout } from '../../domain/workload/rollout.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { refOf, shortLook, type WorkloadState } from '../../model/workload-state.ts';
import { recordOf } from '../ledger/record.ts';
import type { Jobs } from './jobs.ts';
import type { Replacements } from './replacements.ts';

/** One source whose change is to reach one workload. */
export interface Change {
  readonly id: SourceId;
  readonly ref: SourceRef;
  readonly verdict: Extract<Verdict, { reload: true }>;
  readonly difference: Difference;
  readonly current: Applied;
  /** Resource version from which on it is so. */
  readonly since: number;
  /** Undefined: the source is gone. */
  readonly mark: string | undefined;
}

/** `same`: upstream's rules see nothing to write. `left`: nothing is to happen to a workload like this. */
export type Outcome = Written | 'same' | 'left';

/** With the Job that there is now, where it takes one. */
export interface Written {
  readonly job: NewJob | undefined;
}

/** One that a CronJob ran, or that was made in place of another. */
export interface NewJob {
  readonly name: string;
  readonly uid: string;
}

/** It has begun, takes its time, and goes on by itself; nothing is done before `finished`. */
export interface UnderWay {
  readonly finished: Promise<Outcome>;
  /** Resolves when it takes longer than usual, with what may be the matter. */
  readonly late: Promise<KubeError>;
}

/** Carries changes out. Throws what the API server refuses. */
export type Act = (state: WorkloadState, changes: readonly Change[]) => Promise<Outcome | UnderWay>;

export interface ActDeps {
  readonly client: KubeClient;
  readonly policy: Policy;
  readonly strategy: Strategy;
  readonly keyId: string;
  /** The newest resource version that we know of. */
  readonly seenUpTo: () => number;
  /** A Job was started from a CronJob, at this moment of the server's time. */
  readonly ran: (state: WorkloadState, version: number) => void;
  /** A Job turned out to have been started from a CronJob some time ago. */
  readonly foundRun: (job: Workload) => void;
  /** Whether this source's fingerprint may be stored at all. */
  readonly mayStore: (id: SourceId) => boolean;
  /** A short text that stands for a long one. */
  readonly shorten: (text: string) => string;
  readonly jobs: Jobs;
  readonly replacements: Pick<Replacements, 'replace'>;
  readonly parse: (kind: WorkloadKind, object: KubeObject) => Workload;
  /** The answer to a write is the newest object: no need to wait for the watch. */
  readonly seen: (workload: Workload) => void;
  /** Remembers what the object itself does not carry. */
  readonly touch: (state: WorkloadState) => void;
}

const JOBS = kindNamed('Job') as WorkloadKind;

/** Upstream's field manager: who owned a mark before owns it afterwards. */
export const FIELD_MANAGER = 'Reloader';

export function createAct(deps: ActDeps): Act {
  return async (state, changes) => {
    const kind = kindNamed(state.workload.ref.kind);
    if (!kind) return 'same';
    const verdicts = changes.map((change) => change.verdict);
    const action = actionFor(kind, state.workload, verdicts, deps.policy);
    if (action === 'none') return done(deps, state, 'left');
    const now = deps.client.serverNow();
    const edit = edited(deps, state, changes, now);
    // Upstream looks at the template even where it does not write it.
    if (action === 'restart' && (edit || !deps.policy.compat)) {
      return patch(deps, { kind, state, changes, edit: undefined, now });
    }
    if (edit === undefined) return done(deps, state, 'same');
    if (action === 'patch') return patch(deps, { kind, state, changes, edit, now });
    if (action === 'replace') return replace(deps, state, edit);
    const seq = state.seq + 1;
    const job = await run(deps, { state, changes, edit, now });
    return written(deps, state, seq, job);
  };
}

async function replace(deps: ActDeps, state: WorkloadState, edit: TemplateEdit): Promise<Outcome | UnderWay> {
  const seq = state.seq + 1;
  const { finished, late } = await deps.replacements.replace(state, edit);
  if (!late) return written(deps, state, seq, await finished);
  return { late, finished: finished.then((job) => written(deps, state, seq, job)) };
}

/** The watch may have brought the Job, and the number with it. */
function written(deps: ActDeps, state: WorkloadState, seq: number, job: KubeObject | undefined): Outcome {
  state.seq = Math.max(state.seq, seq);
  return done(deps, state, { job: job && { name: job.metadata.name, uid: job.metadata.uid } });
}

/** The Job that runs; undefined if it is known by its name and no more. */
async function run(
  deps: ActDeps,
  { state, changes, edit, now }: Omit<Rollout, 'kind'>,
): Promise<KubeObject | undefined> {
  // Where Jobs are not followed nobody would read it.
  const isRecorded = !deps.policy.compat && !deps.policy.ignoredKinds.has('Job');
  const record = isRecorded ? recordOf(deps, { state, changes, edit, now }).text : undefined;
  const { when, job } = await deps.jobs.run(state, changes, { edit, record });
  if (when === 'now') deps.ran(state, Number(job.metadata.resourceVersion));
  if (when === 'now' || !job) return job;
  deps.foundRun(deps.parse(JOBS, job));
  if (changes.every(({ id, current }) => state.applied.get(id) === current)) return job;
  throw new KubeError({
    verb: 'create',
    path: `jobs/${job.metadata.namespace}/${job.metadata.name}`,
    status: 409,
    reason: 'Conflict',
    detail: 'another leader ran the CronJob for something else meanwhile',
  });
}

/** No record rides on the object, so the checkpoint has to know: a new number makes it the newest word. */
function done(deps: ActDeps, state: WorkloadState, outcome: Outcome): Outcome {
  deps.touch(state);
  return outcome;
}

interface Rollout {
  readonly kind: WorkloadKind;
  readonly state: WorkloadState;
  readonly changes: readonly Change[];
  /** Undefined: restarted without touching the template. */
  readonly edit: TemplateEdit | undefined;
  /** One moment for all that is written. */
  readonly now: number;
}

async function patch(deps: ActDeps, { kind, state, changes, edit, now }: Rollout): Promise<Outcome> {
  const { workload } = state;
  const record = deps.policy.compat ? undefined : recordOf(deps, { state, changes, edit, now });
  const { type, body } = patchOf(kind, workload, edit, {
    ...(record?.text !== undefined && { record: record.text }),
    ...(edit === undefined && { restartAt: formatTime(now / 1000) }),
    ...(isPauseDue(deps, workload, now) && {
      pause: { pausedAt: formatTime(now / 1000) },
    }),
    keys: deps.policy.keys,
  });
  const seq = state.seq + 1;
  const left = state.looks.at(-1);
  const had = new Map(state.applied);
  const answer = await send(deps, { kind, state }, { type, body });
  noteMarks(deps, { state, changes, edit, now });
  if (left) left.had ??= had;
  for (const { id, current } of changes) state.applied.set(id, current);
  // The watch may have brought our own record before the answer came.
  state.seq = Math.max(state.seq, seq);
  if (!record?.whole) deps.touch(state);
  deps.seen(deps.parse(kind, answer));
  return { job: undefined };
}

async function send(
  deps: ActDeps,
  { kind, state }: Pick<Rollout, 'kind' | 'state'>,
  { type, body }: Pick<Patch, 'type' | 'body'>,
): Promise<KubeObject> {
  state.writing = true;
  try {
    return await deps.client.patch(kind, state.workload.ref, body, { type, fieldManager: FIELD_MANAGER });
  } finally {
    state.writing = false;
  }
}

function edited(
  deps: ActDeps,
  state: WorkloadState,
  changes: readonly Change[],
  now: number,
): TemplateEdit | undefined {
  const { workload } = state;
  const alive = new Set([...workload.references, ...namesOf(state)].map(({ kind, name }) => variableName(kind, name)));
  return editTemplate(
    workload,
    changes.map(({ ref, verdict, mark }) => ({ ref, container: verdict.container, mark: mark ?? 'deleted' })),
    {
      strategy: deps.strategy,
      compat: deps.policy.compat,
      observedAt: Math.floor(now / 1000),
      usedOrNamed: (variable) => alive.has(variable),
      nudge: deps.shorten(`${workload.uid} ${workload.resourceVersion}`),
      // Pods of a template that was there before may still be running, with the data of that time.
      isKnown: (edit) => {
        const full = shortLook(digestAfter(workload, edit, deps.shorten));
        return state.unseenAfter !== undefined || state.looks.some((look) => look.full === full);
      },
    },
  );
}

/** All that this workload was rolled for or names: their variables are no orphans. */
function namesOf(state: WorkloadState): { readonly kind: SourceRef['kind']; readonly name: string }[] {
  const named = namedIn(state.workload.intent.asks).map(({ kind, pattern }) => ({ kind, name: pattern.text }));
  const applied = [...state.applied.keys()].map((id) => {
    const [kind = 'ConfigMap', ...name] = id.split('/');
    return { kind: kind as SourceRef['kind'], name: name.join('/') };
  });
  return [...named, ...applied];
}

function isPauseDue(deps: ActDeps, workload: Workload, now: number): boolean {
  if (workload.ref.kind !== 'Deployment') return false;
  const pausedAt = workload.annotations[deps.policy.keys.pausedAt];
  return (
    pauseStep({ paused: workload.paused, pausedAt, periodMs: workload.intent.overrides.pausePeriodMs }, now).do ===
    'pause'
  );
}

/** The annotation has room for one cause only: the last. */
function noteMarks(deps: ActDeps, { state, changes, edit, now }: Omit<Rollout, 'kind'>): void {
  if (edit === undefined) return;
  state.wroteAt = Math.floor(now / 1000);
  if (deps.strategy === 'annotations') state.wrote.clear();
  const noted = deps.strategy === 'annotations' ? changes.slice(-1) : changes;
  // Of two sources that share a variable the last one has it.
  const marks = new Map(noted.map((change) => [variableName(change.ref.kind, change.ref.name), change]));
  // What we took away or wrote over ourselves, nobody else did.
  const ours = new Set([...edit.env.map(({ variable }) => variable), ...marks.keys()]);
  for (const id of [...state.wrote.keys()]) {
    const { kind, name } = refOf(id, state.workload.ref.namespace);
    if (ours.has(variableName(kind, name))) state.wrote.delete(id);
  }
  for (const { id, mark } of marks.values()) if (mark !== undefined) state.wrote.set(id, mark);
  state.trusted.clear();
  if (!tellsRollout(state.workload.ref.kind)) state.unseenAfter = undefined;
}
