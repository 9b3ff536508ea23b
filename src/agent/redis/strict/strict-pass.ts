import type { InstanceEntry } from '../../../domain/redis/cluster-view.ts';
import { messageOf } from '../../run-agent.ts';
import type { Pods } from '../pods.ts';
import { applyRole, replicationNow } from '../steps/role.ts';
import type { StepContext } from '../steps/step.ts';
import { replicationPart } from '../tune.ts';
import type { StrictSteps } from './strict-steps.ts';

/** Role (without it nothing else happens), configuration, secrets, certificates; then what the status says. */
export async function strictPass(context: StepContext, steps: StrictSteps, pods: Pods): Promise<InstanceEntry> {
  await applyRole(context, pods);
  const attempt = async (name: string, work: Promise<void>): Promise<void> => {
    await work.catch((error) => context.log.error(`${name} could not be reconciled`, { error: messageOf(error) }));
  };
  await attempt('config', steps.applyConfig(context));
  await attempt('secrets', steps.applySecrets(context));
  await attempt('TLS', steps.applyTls(context));
  return replicationPart(await replicationNow(context.redis));
}
