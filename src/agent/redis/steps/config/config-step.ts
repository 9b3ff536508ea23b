import type { KeyStatus } from '../../../../domain/redis/cluster-view.ts';
import { type WantedConfig, wantedConfig } from '../../../../domain/redis/config/wanted.ts';
import type { RedisAgentSettings } from '../../settings.ts';
import type { Directive, PrepareContext, StepContext } from '../step.ts';
import { AcceptedConfig } from './accepted-config.ts';
import { Findings } from './findings.ts';
import { KnownRefusals } from './known-refusals.ts';
import { applyLive } from './live-parameters.ts';
import { prepareStart } from './next-start.ts';
import { Judge, type Pass } from './pass.ts';
import { readIdentity, readParameters } from './running-server.ts';
import { applyStartOnly, isLeftToStart } from './start-only.ts';

export interface ConfigReport {
  /** By key of `spec.redis`; those of `spec.memory` by the parameter. */
  readonly keys: Readonly<Record<string, KeyStatus>>;
  /** Parameters whose value has changed in this pass. */
  readonly changed: readonly string[];
}

export interface ConfigStep {
  prepare(context: PrepareContext): Promise<readonly Directive[]>;
  apply(context: StepContext): Promise<ConfigReport>;
}

/** Keeps Redis's parameters as `spec.redis` and `spec.memory` say. */
export function createConfigStep(settings: RedisAgentSettings): ConfigStep {
  const accepted = new AcceptedConfig(settings.paths.stateDir);
  const known = new KnownRefusals();
  return {
    prepare: (context) => prepareStart(context, accepted),
    apply: (context) => apply(context, accepted, known),
  };
}

async function apply(context: StepContext, accepted: AcceptedConfig, known: KnownRefusals): Promise<ConfigReport> {
  const config = wantedConfig(context.cluster);
  if (config.wanted.length + config.rejected.length === 0 && accepted.isEmpty) return { keys: {}, changed: [] };
  const pass = await beginPass(context, config, accepted, known);
  const isForStart = ({ name }: { readonly name: string }): boolean =>
    known.forStart.has(name) || accepted.start.get(name)?.version === pass.server.version;
  for (const { why, ...subject } of config.rejected) pass.findings.add(subject, { state: 'Refused', message: why });
  const forLive = config.wanted.filter((wanted) => !isLeftToStart(wanted) && !isForStart(wanted));
  const changed = await applyLive(pass, forLive);
  if (changed.length > 0) {
    context.log.info('parameters of Redis are changed', { keys: changed.join(', ') });
    context.event('Normal', 'ConfigReloaded', `Pod ${context.settings.podName}: set live: ${changed.join(', ')}`);
  }
  await applyStartOnly(
    pass,
    config.wanted.filter((wanted) => isLeftToStart(wanted) || isForStart(wanted)),
  );
  if (pass.findings.tell(accepted, context)) await accepted.save();
  return { keys: pass.findings.keys, changed };
}

async function beginPass(
  context: StepContext,
  config: WantedConfig,
  accepted: AcceptedConfig,
  known: KnownRefusals,
): Promise<Pass> {
  const parameters = config.wanted.filter(({ line }) => !line).map(({ name }) => name);
  const names = [...new Set([...parameters, ...accepted.live.keys(), ...accepted.start.keys()])];
  const server = await readIdentity(context.redis);
  known.keep(server.runId, new Set([...config.wanted.map(({ name }) => name), ...names]));
  const running = await readParameters(context.redis, names.filter((name) => !name.includes(' ')).toSorted());
  const judge = new Judge(context, known);
  return { context, config, accepted, known, server, running, findings: new Findings(), judge };
}
