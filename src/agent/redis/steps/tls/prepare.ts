import { join } from 'node:path';
import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import { nextTurn } from '../../../../domain/redis/trust/rotation.ts';
import type { Directive } from '../step.ts';
import { composeVersion } from './material/compose.ts';
import type { TlsPaths } from './material/versions.ts';
import type { Offered } from './offered.ts';
import { problemsText, warnOnce } from './report.ts';
import type { Active, TlsWorld } from './tls-state.ts';

/** Redis cannot start: it is to speak TLS, and there is no certificate that it could use. */
export class CertificatesUnusable extends Error {
  override readonly name = 'CertificatesUnusable';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(`Redis cannot start with TLS: ${problemsText(problems)}`);
    this.problems = problems;
  }
}

/** The certificates of the next start: those that Redis had last; before the first start those of the mounted files. */
export async function prepareTls(world: TlsWorld, offered: Offered): Promise<readonly Directive[]> {
  const { state, versions } = world;
  const had = state.value.active;
  const active = had && (await versions.read(had.digest)) ? had : await firstVersion(world, offered);
  await state.save({
    ...state.value,
    active: { ...active, place: 'copy' },
    prepared: active.digest,
    direct: undefined,
  });
  return directivesFor(versions.paths(active.digest));
}

const directivesFor = ({ cert, key, ca }: TlsPaths): readonly Directive[] => [
  ['tls-cert-file', cert],
  ['tls-key-file', key],
  ['tls-ca-cert-file', ca],
];

async function firstVersion(world: TlsWorld, offered: Offered): Promise<Active> {
  const { context, versions } = world;
  const { material } = offered;
  const turn = material && nextTurn(material, undefined, { peers: new Map(), overlapMs: 0, nowMs: 0 });
  const parts = turn && composeVersion(turn, { material, files: context.tls, standing: undefined });
  if (!turn || !parts) return await refuse(world, offered.content, offered.problems);
  const digest = await versions.write(parts);
  // Redis reads the files at its start only if something is to speak TLS.
  const directives = [...directivesFor(versions.paths(digest)), ['tls-replication', 'yes'] as const];
  const trial = await context.tryServer({ directives }, (redis) => redis.send('PING'));
  if (!trial.ok) {
    return await refuse(world, offered.content, [
      { where: context.tls.root, what: `Redis refuses it: ${trial.words}` },
    ]);
  }
  const { leaf, chain, signedBy, endsMs } = material;
  const { trusted, phase } = turn;
  return { leaf, chain, signedBy, endsMs, trusted, phase, digest, sinceMs: context.clock.wall(), place: 'copy' };
}

async function refuse(world: TlsWorld, content: string, problems: readonly Problem[]): Promise<never> {
  const all =
    problems.length > 0
      ? problems
      : [{ where: join(world.context.tls.root, 'tls.key'), what: 'has changed meanwhile' }];
  await warnOnce(world, content, all);
  throw new CertificatesUnusable(all);
}
