import { join } from 'node:path';
import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import { equalLists, nextTurn, type Turn } from '../../../../domain/redis/trust/rotation.ts';
import type { StepContext } from '../step.ts';
import { AGAIN_MS } from '../try-again.ts';
import { type Change, type Changed, change } from './change.ts';
import { composeVersion } from './material/compose.ts';
import type { Material } from './material/material.ts';
import type { Offered } from './offered.ts';
import { type Outcome, tellRotated } from './report.ts';
import type { RunningTls } from './running-tls.ts';
import { type Active, mountedPaths, removeUnused, type TlsState, type TlsWorld } from './tls-state.ts';

type World = TlsWorld<StepContext>;
type Place = Pick<Active, 'digest' | 'place'>;

/** Something to tell Redis of, with what it then has. */
interface Attempt {
  readonly turn: Turn;
  readonly place: Place;
  readonly change: Change;
}

/** Tells Redis of what it is to have now: copy, command, proof, state, event, in this order. */
export async function bringIn(world: World, turn: Turn, offered: Offered, running: RunningTls): Promise<Outcome> {
  const attempt = await attemptFor(world, turn, offered, running);
  if (!attempt) return { rotated: false, refused: true, problems: [...offered.problems, lostCopy(world)] };
  const result = await change(world, attempt.change);
  if (result.ok) return await accept(world, attempt, offered, { ...result.shown, runId: running.runId });
  const direct = result.byRedis && !world.state.value.direct ? attemptMounted(world, offered, running) : undefined;
  const second = direct && (await change(world, direct.change));
  if (direct && second?.ok) {
    await world.state.save({ ...world.state.value, direct: true });
    return await accept(world, direct, offered, { ...second.shown, runId: running.runId });
  }
  return await refuse(world, offered, {
    ...result,
    byRedis: result.byRedis && !(second && !second.ok && !second.byRedis),
  });
}

/** Undefined: a copy is gone, and the files are of no use. */
async function attemptFor(
  world: World,
  turn: Turn,
  offered: Offered,
  running: RunningTls,
): Promise<Attempt | undefined> {
  const { state, versions, context } = world;
  const { active, direct } = state.value;
  if (direct) return attemptMounted(world, offered, running);
  const { material } = offered;
  const standing = active && (await versions.read(active.digest));
  const supply = { material, files: context.tls, standing };
  // Without the copy of what Redis has it can only be given what the files hold.
  const possible = composeVersion(turn, supply) || !material ? turn : alone(material);
  const parts = composeVersion(possible, supply);
  const leaf = possible.leaf === 'offered' ? material?.leaf : active?.leaf;
  if (!parts || leaf === undefined) return undefined;
  const digest = await versions.write(parts);
  const former = standing && active ? versions.paths(active.digest) : running.paths;
  const place: Place = { digest, place: 'copy' };
  return { turn: possible, place, change: { paths: versions.paths(digest), parts, leaf, former } };
}

/** The files where Redis itself has them mounted: for a sidecar whose Redis cannot read our copies. */
function attemptMounted(world: World, offered: Offered, running: RunningTls): Attempt | undefined {
  const { material } = offered;
  if (!material || world.settings.mode !== 'sidecar') return undefined;
  const turn = alone(material);
  const parts = composeVersion(turn, { material, files: world.context.tls, standing: undefined });
  if (!parts) return undefined;
  const paths = mountedPaths(world);
  const former = running.paths;
  return { turn, place: { digest: '', place: 'mounted' }, change: { paths, parts, leaf: material.leaf, former } };
}

const alone = (material: Material): Turn => nextTurn(material, undefined, { peers: new Map(), overlapMs: 0, nowMs: 0 });

/** What Redis has after a turn. */
export function activeFor({ state, context }: World, turn: Turn, { material }: Offered, place: Place): Active {
  const before = state.value.active;
  const source = turn.leaf === 'offered' ? material : before;
  if (!source) throw new Error('a turn to certificates that nobody has');
  const { leaf, chain, signedBy, endsMs } = source;
  const { trusted, phase, agreed } = turn;
  const now = { leaf, chain, signedBy, endsMs, trusted, phase, agreed, ...place };
  const isNews = !before || before.phase !== phase || differ(before, now);
  return { ...now, sinceMs: isNews ? context.clock.wall() : before.sinceMs };
}

type Seen = NonNullable<TlsState['seen']>;

async function accept(world: World, { turn, place }: Attempt, offered: Offered, seen: Seen): Promise<Outcome> {
  const { state } = world;
  const before = state.value.active;
  const active = activeFor(world, turn, offered, place);
  const refused = offered.material ? undefined : state.value.refused;
  await state.save({ ...state.value, active, seen, refused });
  const rotated = !before || differ(before, active);
  if (rotated) tellRotated(world, active, before);
  else world.context.log.info('Redis had lost its certificates, and has them again', { leaf: active.leaf });
  await removeUnused(world);
  return { rotated, refused: !offered.material, problems: offered.problems, wait: turn.wait };
}

type Had = Pick<Active, 'chain' | 'trusted'>;

const differ = (a: Had, b: Had): boolean => a.chain !== b.chain || !equalLists(a.trusted, b.trusted);

/** What the files offer is not tried again at once. Without material it was a copy that Redis had before: that is. */
async function refuse(
  world: World,
  offered: Offered,
  { words, byRedis }: Extract<Changed, { ok: false }>,
): Promise<Outcome> {
  const { state, context } = world;
  const where = context.tls.root;
  const again = byRedis ? `, these again after ${AGAIN_MS / 60_000} minutes` : '';
  const problem: Problem = {
    where,
    what: `is valid, but does not work: ${words}; Redis goes on as before, other files are tried at once${again}`,
  };
  const refused = { content: offered.content, problem, atMs: byRedis ? context.clock.wall() : undefined };
  if (offered.material) await state.save({ ...state.value, refused });
  return { rotated: false, refused: true, problems: [...offered.problems, problem] };
}

const lostCopy = ({ settings }: World): Problem => ({
  where: join(settings.paths.stateDir, 'tls'),
  what: 'has lost the certificates that Redis should have: put valid ones into the mounted files',
});
