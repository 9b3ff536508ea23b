import { pid } from 'node:process';
import { expect, test } from 'vitest';
import { stage } from '../../support/controller.ts';
import { plantedValue, scanMemory } from '../../support/memory-scan.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { AUTO, type Moves, movesIn } from '../reloader/moves.ts';
import { receiver } from '../reloader/receiver.ts';

const SECRETS = Array.from({ length: 100 }, (_, n) => n);
const CHANGES = rounds(1, 4);
const USED = 50;
const USED_BY_EACH = 5;
const GONE_MS = 60_000;
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Most are short, some come in many pieces. */
const dataOf = (n: number, round: number) => {
  const bytes = n === 7 ? 300_000 : n % 10 === 0 ? 5000 : 48;
  return { password: plantedValue(round * SECRETS.length + n, bytes) };
};

/** As kubectl writes it, with the data in an annotation. */
function plant(moves: Moves, n: number) {
  const data = dataOf(n, 0);
  const applied = JSON.stringify({ data: { password: btoa(data.password) }, stringData: data });
  return moves.createSource('Secret', `s-${n}`, data, n % 5 === 0 ? { [LAST_APPLIED]: applied } : {});
}

const createUser = (moves: Moves, n: number) => {
  const envFrom = SECRETS.slice(n, n + USED_BY_EACH).map((each) => ({ secretRef: { name: `s-${each}` } }));
  return moves.create('Deployment', `d-${n}`, {
    annotations: AUTO,
    pod: { containers: [{ name: 'app', image: 'app', envFrom }] },
  });
};

test.each(['that it rolls for', 'that it tells a webhook of'] as const)(
  'of Secrets %s, or that nobody uses, nothing is left in memory',
  async (mode) => {
    await using at = await stage();
    await using hook = await receiver();
    const moves = movesIn(at.space);
    await Promise.all(SECRETS.map((n) => plant(moves, n)));
    for (let n = 0; n < USED; n += USED_BY_EACH) await createUser(moves, n);
    const flags = mode === 'that it rolls for' ? [] : [`--webhook-url=${hook.url}`];
    await using controller = await at.start(flags);
    // What these use has to be asked for, one by one.
    await createUser(moves, USED);
    for (let round = 1; round <= CHANGES; round += 1) {
      await Promise.all(SECRETS.map((n) => moves.setData('Secret', `s-${n}`, dataOf(n, round))));
    }
    const update = { resource_type: 'secrets', event_type: 'update' };
    const heard = () => controller.metric('reloader_events_received_total', update);
    await until(async () => ((await heard()) ?? 0) >= SECRETS.length * CHANGES, { what: 'all changes heard of' });
    // Here they are: whoever looks can find them. Kept, or it would be for the garbage collector to say.
    const kept = SECRETS.map((n) => Buffer.from(dataOf(n, CHANGES).password));
    expect(scanMemory(pid).plain.size).toBeGreaterThan(kept.length / 2);
    const what = 'no value in memory';
    await until(() => !isLeft(controller.pid), { what, deadlineMs: GONE_MS });
  },
);

function isLeft(process: number): boolean {
  const { plain, base64 } = scanMemory(process);
  if (plain.size + base64.size > 0) throw new Error(`${plain.size} values plain, ${base64.size} as base64`);
  return false;
}
