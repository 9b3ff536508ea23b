import { equalLists, nextTurn, type Turn } from '../../../../domain/redis/trust/rotation.ts';
import type { StepContext } from '../step.ts';
import { activeFor, bringIn } from './bring-in.ts';
import { lookAt, type Shown } from './handshake.ts';
import { composeVersion } from './material/compose.ts';
import { samePaths } from './material/versions.ts';
import type { Offered } from './offered.ts';
import type { Outcome } from './report.ts';
import type { RunningTls } from './running-tls.ts';
import { type Active, mountedPaths, type TlsState, type TlsWorld } from './tls-state.ts';

type World = TlsWorld<StepContext>;

/** Brings a running Redis to what the files offer, as far as the other pods allow it now. */
export async function converge(world: World, offered: Offered, running: RunningTls): Promise<Outcome> {
  const { state, target } = world;
  await learn(world, running);
  const { seen, active } = state.value;
  const isFresh = seen?.runId !== running.runId;
  const shown = isFresh ? await lookAt(target()) : seen;
  const now: Now = { running, isFresh, shown, offered };
  const turn = turnFor(world, offered, active);
  const rest = { problems: offered.problems, refused: !offered.material };
  if (!turn) {
    await state.save({ ...state.value, seen: { ...shown, runId: running.runId } });
    return { ...rest, rotated: false };
  }
  if (active && isInPlace(world, turn, active, now)) await keep(world, turn, active, now);
  else if (mayNote(world, turn, now)) await note(world, turn, now);
  else return await bringIn(world, turn, offered, running);
  return { ...rest, rotated: false, wait: turn.wait };
}

/** What is known about Redis and the files in this pass. */
interface Now {
  readonly running: RunningTls;
  /** This run of the server has not been looked at before. */
  readonly isFresh: boolean;
  readonly shown: Shown;
  readonly offered: Offered;
}

/** Undefined: there is nothing that Redis could be told. */
function turnFor({ state, context }: World, { material }: Offered, active: Active | undefined): Turn | undefined {
  const { trusted = [], phase = 'Settled', agreed } = active ?? {};
  if (!material) return active && { leaf: 'standing', trusted, phase, agreed };
  const standing = state.value.direct ? undefined : active;
  const peers = new Map([...context.peers].map(([name, { tls }]) => [name, tls]));
  return nextTurn(material, standing, { peers, overlapMs: context.cluster.overlapMs, nowMs: context.clock.wall() });
}

/** What the running server says about its start is kept as long as it is known. */
async function learn({ settings, state, versions }: World, { paths }: RunningTls): Promise<void> {
  const digest = versions.digestAt(paths);
  const { prepared, ...rest } = state.value;
  const started: TlsState = prepared === undefined ? rest : { ...rest, cameUp: digest };
  const isMounted = settings.mode === 'sidecar' && digest === undefined && paths.cert !== '';
  await state.save(isMounted ? { ...started, mounted: paths } : started);
}

function isInPlace(world: World, turn: Turn, active: Active, { running, isFresh, shown, offered }: Now): boolean {
  const wanted = turn.leaf === 'offered' ? offered.material?.chain : active.chain;
  if (wanted !== active.chain || !equalLists(turn.trusted, active.trusted)) return false;
  // Without a copy that it can read, Redis cannot be told anything but what it has.
  if (world.state.value.direct && !offered.material) return true;
  const paths = active.place === 'copy' ? world.versions.paths(active.digest) : mountedPaths(world);
  if (!samePaths(running.paths, paths)) return false;
  return !isFresh || (active.place === 'copy' && shown.leaf === active.leaf);
}

/** Only what is remembered may change. */
async function keep({ state, context }: World, turn: Turn, active: Active, { running, shown }: Now): Promise<void> {
  const sinceMs = turn.phase === active.phase ? active.sinceMs : context.clock.wall();
  const seen = { ...shown, runId: running.runId };
  await state.save({ ...state.value, active: { ...active, phase: turn.phase, agreed: turn.agreed, sinceMs }, seen });
}

/** A server that has just read what it is to have needs no command. */
function mayNote({ versions, state }: World, turn: Turn, { running, isFresh, shown, offered }: Now): boolean {
  const { material } = offered;
  if (!isFresh || !material || turn.leaf !== 'offered' || shown.leaf !== material.leaf) return false;
  const isOwnChoice = versions.digestAt(running.paths) === undefined || !state.value.active;
  return isOwnChoice && equalLists(turn.trusted, material.authorities.toSorted());
}

async function note(world: World, turn: Turn, { running, shown, offered }: Now): Promise<void> {
  const { state, versions, context } = world;
  const parts = composeVersion(turn, { material: offered.material, files: context.tls, standing: undefined });
  if (!parts) return;
  const digest = state.value.direct ? '' : await versions.write(parts);
  const place = samePaths(running.paths, versions.paths(digest)) ? 'copy' : 'mounted';
  const active = activeFor(world, turn, offered, { digest, place });
  await state.save({ ...state.value, active, seen: { ...shown, runId: running.runId } });
}
