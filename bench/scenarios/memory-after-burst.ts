import { setTimeout as delay } from 'node:timers/promises';
import { memoryFigures, type Scenario, type ScenarioContext, withContender } from '../scenario.ts';
import { createFan, spread } from './fan-out.ts';
import { createUnusedSecrets } from './unused-secrets.ts';

// Time for a program to collect the garbage of a burst and give the memory back.
const REST_MS = 30_000;
const DEADLINE_MS = 300_000;

interface Burst {
  readonly id: string;
  readonly workloads: number;
  readonly changes: number;
  /** Of 1 KiB each, that nobody uses. */
  readonly secrets?: number;
  readonly long?: boolean;
}

/** What is resident before a burst of rollouts, at its end, and when it has been over for a while. */
function memoryAfterBurst({ id, workloads, changes, secrets = 0, long }: Burst): Scenario {
  const beside = secrets > 0 ? `, beside ${secrets} Secrets` : '';
  return {
    id,
    title: `memory after ${changes} × one change for ${workloads} Deployments${beside}`,
    ...(long === undefined ? {} : { long }),
    ...(secrets > 0 ? { storeBytes: 8 * 1024 ** 3 } : {}),
    async run(context: ScenarioContext): Promise<void> {
      const { cluster, contenders, record } = context;
      await createUnusedSecrets(cluster, secrets, 1024);
      const fan = await createFan(cluster, workloads);
      for (const contender of contenders) {
        await withContender(context, contender, {}, async (program) => {
          await delay(REST_MS);
          const before = memoryFigures(program);
          let done = workloads;
          for (let left = changes; left > 0; left--) {
            done = Math.min(done, (await spread(cluster, fan, DEADLINE_MS)).done);
            await cluster.calm(1500);
          }
          const atEnd = memoryFigures(program);
          await delay(REST_MS);
          const figures = {
            'RSS MB before': before['RSS MB'] ?? Number.NaN,
            'RSS MB at its end': atEnd['RSS MB'] ?? Number.NaN,
            ...memoryFigures(program),
            'reached at the deadline': done,
          };
          record({ scenario: id, contender: contender.name, figures });
        });
      }
    },
  };
}

export const MEMORY_AFTER_BURST: readonly Scenario[] = [
  memoryAfterBurst({ id: 'memory-1000', workloads: 1000, changes: 1 }),
  memoryAfterBurst({ id: 'memory-5000', workloads: 5000, changes: 1, long: true }),
  memoryAfterBurst({ id: 'memory-3x3000', workloads: 3000, changes: 3, long: true }),
  memoryAfterBurst({ id: 'memory-secrets', workloads: 3000, changes: 1, secrets: 20_000, long: true }),
];
