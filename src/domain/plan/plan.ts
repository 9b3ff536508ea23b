import type { Change } from '../outcome/change.ts';
import type { TemplateEdit } from '../template/template-edit.ts';
import type { NotNow } from './gate.ts';

/** What is to be done about a workload now. Decided without asking anybody, and carried out by the controller. */
export type Plan = Nothing | Blocked | NotNow | Skip | WritePlan;

/** Nothing waits any more. */
interface Nothing {
  readonly do: 'nothing';
}

/** An annotation that must not be guessed cannot be read: nothing is written until it is mended. */
interface Blocked {
  readonly do: 'block';
}

/** What waits needs no write: upstream's rules see nothing to change, or nothing is to happen to a workload like this. */
interface Skip {
  readonly do: 'skip';
  readonly changes: readonly Change[];
  readonly why: 'nothing-to-write' | 'left-alone';
}

interface Write {
  readonly changes: readonly Change[];
  /** One moment for all that is written: milliseconds since the epoch, by the server's clock. */
  readonly now: number;
}

/** The pod template is edited, and the kind's own controller rolls. */
export interface PatchPlan extends Write {
  readonly do: 'patch';
  readonly edit: TemplateEdit;
  /** The rollout is held back for the pause period. */
  readonly isPaused: boolean;
}

/** The kind's own way to restart, with the template as it is. */
export interface RestartPlan extends Write {
  readonly do: 'restart';
}

/** Its pods are evicted one after the other, with the template as it is. */
export interface EvictPlan extends Write {
  readonly do: 'evict';
}

interface FromTemplate extends Write {
  readonly edit: TemplateEdit;
}

/** A Job is created from a CronJob. */
export interface RunPlan extends FromTemplate {
  readonly do: 'run';
}

/** A Job is deleted and created anew. */
export interface ReplacePlan extends FromTemplate {
  readonly do: 'replace';
}

export type WritePlan = PatchPlan | RestartPlan | EvictPlan | RunPlan | ReplacePlan;
