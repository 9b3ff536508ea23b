import { Audit, type AuditedKind } from '../../support/audit.ts';
import { type Controller, type Stage, type StageOptions, type StageStart, stage } from '../../support/controller.ts';
import { Fence, type Moves, movesIn } from './moves.ts';

export const COMPAT = '--compat=stakater';
/** Attune's own mode. The quiet period is the one thing of it that costs time. */
export const DEFAULT = '--quiet-period=50ms';
export const MODES = [DEFAULT, COMPAT] as const;

/** What nearly every test needs: a stage, an audit and a fence of its first namespace, and moves to make there. */
export interface Scene extends AsyncDisposable, Moves {
  readonly stage: Stage;
  readonly space: string;
  readonly audit: Audit;
  readonly fence: Fence;
  /** Stopped with the scene. */
  start(flags: readonly string[], options?: StageStart): Promise<Controller>;
}

export async function scene(kinds: readonly AuditedKind[] = [], options: StageOptions = {}): Promise<Scene> {
  await using building = new AsyncDisposableStack();
  const here = building.use(await stage(options));
  const audit = building.use(await Audit.of(here.space, [...new Set<AuditedKind>(['Deployment', ...kinds])]));
  const fence = await Fence.in(here.space, audit);
  const rest = building.move();
  return {
    ...movesIn(here.space),
    stage: here,
    space: here.space,
    audit,
    fence,
    start: async (flags, start) => rest.use(await here.start(flags, start)),
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}
