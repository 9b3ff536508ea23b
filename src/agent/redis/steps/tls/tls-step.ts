import { readFileSync } from 'node:fs';
import { StateFile } from '../../../state/state-file.ts';
import type { RedisAgentSettings } from '../../settings.ts';
import type { Directive, PrepareContext, StepContext } from '../step.ts';
import { converge } from './converge.ts';
import type { TlsTarget } from './handshake.ts';
import { bundleOf, certificatesIn } from './material/certificates.ts';
import { contentOf, type FilesRead, readMaterial } from './material/material.ts';
import { pathsIn, Versions } from './material/versions.ts';
import { type Offered, offeredNow } from './offered.ts';
import { prepareTls } from './prepare.ts';
import { reportOf, type TlsReport, warnOnce } from './report.ts';
import { readRunning } from './running-tls.ts';
import { removeUnused, type TlsState, type TlsWorld } from './tls-state.ts';

/** The step for certificates. */
export interface TlsStep {
  /** @throws {CertificatesUnusable} if Redis has never had any, and the files are no good. */
  prepare(context: PrepareContext): Promise<readonly Directive[]>;
  apply(context: StepContext): Promise<TlsReport>;
  /** PEM of every authority that a Redis of this cluster may be signed by at this moment; undefined: of none. */
  trustedCa(): Buffer | undefined;
}

export interface TlsStepOptions {
  /** Where a handshake reaches the local Redis. */
  readonly redisTarget: () => TlsTarget;
}

export function createTlsStep(settings: RedisAgentSettings, options: TlsStepOptions): TlsStep {
  const state = new StateFile<TlsState>(settings.paths.stateDir, 'tls', {});
  const versions = new Versions(settings.paths.stateDir);
  const own = { settings, state, versions, target: options.redisTarget };
  let read: FilesRead | undefined;
  let isTidy = false;

  const offeredIn = (context: PrepareContext): Offered => {
    if (read?.content !== contentOf(context.tls)) read = readMaterial(context.tls);
    return offeredNow(read, state.value, context);
  };

  return {
    prepare: async (context) => (context.cluster.tls ? await prepareTls({ ...own, context }, offeredIn(context)) : []),

    async apply(context) {
      if (!context.cluster.tls) return { tls: undefined, rotated: false, problems: [] };
      const world = { ...own, context };
      const report = await applyTls(world, offeredIn(context));
      // A killed agent may have left copies.
      if (!isTidy) await removeUnused(world);
      isTidy = true;
      return report;
    },

    trustedCa() {
      const { active } = state.value;
      const texts = [active ? versions.bundle(active.digest) : '', textOf(pathsIn(settings.paths.tlsDir).ca)];
      const bundle = bundleOf(texts.flatMap((text) => certificatesIn(text).certificates));
      return bundle === '' ? undefined : Buffer.from(bundle);
    },
  };
}

async function applyTls(world: TlsWorld<StepContext>, offered: Offered): Promise<TlsReport> {
  const running = await readRunning(world.context.redis);
  const outcome = running.port === 0 ? undefined : await converge(world, offered, running);
  const problems = outcome?.problems ?? offered.problems;
  if (outcome?.refused ?? !offered.material) await warnOnce(world, offered.content, problems);
  else await world.state.save({ ...world.state.value, warned: undefined });
  if (outcome) return reportOf(world, offered, outcome);
  const message = [...problems.map(({ where, what }) => `${where} ${what}`), NOT_LISTENING].join('; ');
  return { tls: { state: offered.material ? 'Waiting' : 'Refused', message }, rotated: false, problems };
}

const NOT_LISTENING = 'Redis runs without a TLS port: certificates count from its next start with one on';

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
