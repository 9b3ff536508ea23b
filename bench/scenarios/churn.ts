import { setTimeout as delay } from 'node:timers/promises';
import type { Arena } from '../arena.ts';
import { createAll, objectPath, type SourceName, sourceManifest, workload } from '../objects.ts';
import { latencyFigures, memoryFigures, type Scenario, type Stage, withContender } from '../scenario.ts';
import { type Put, verdictOf } from '../verdict.ts';
import { workloadKey } from '../watcher.ts';

const KEPT = 10;

/** Workloads come and go while their source changes. One that comes after a change has it already. */
export const churn: Scenario = {
  id: 'churn',
  number: 'S5',
  long: true,
  title: 'a Deployment comes and one goes every 500 ms, their ConfigMap changes every 2 s',
  async run(stage: Stage): Promise<void> {
    const { arena, contenders, quick, record } = stage;
    const namespace = await arena.namespace('bench-s5');
    const source: SourceName = { kind: 'ConfigMap', namespace, name: 'shared' };
    for (const contender of contenders) {
      await createAll(arena.api, [sourceManifest(source, arena.freshData())]);
      await withContender(stage, contender, {}, async (program) => {
        const crowd = new Crowd(arena, source);
        const puts: Put[] = [];
        for (let turn = 0; turn < (quick ? 8 : 40); turn++) {
          await crowd.turn(`app-${turn}`);
          if (turn % 4 === 3) puts.push(await arena.put(source, crowd.keys));
          await delay(500);
        }
        await arena.calm(2000);
        // Whether one that is gone was still reached is nobody's concern.
        const left = new Set(crowd.keys);
        const late = puts.map((put) => ({ ...put, workloads: put.workloads.filter((key) => left.has(key)) }));
        const verdict = verdictOf(late, new Map([...arena.watcher.rollouts].filter(([key]) => left.has(key))));
        const { latencies, missed, surplus, rollouts, expected } = verdict;
        record({
          scenario: 'churn',
          contender: contender.name,
          latencies,
          figures: { expected, rollouts, missed, surplus, ...latencyFigures(latencies), ...memoryFigures(program) },
        });
      });
      await arena.clear(contenders);
    }
  },
};

/** The workloads that are there at the moment. */
class Crowd {
  readonly #arena: Arena;
  readonly #source: SourceName;
  readonly #names: string[] = [];

  constructor(arena: Arena, source: SourceName) {
    this.#arena = arena;
    this.#source = source;
  }

  get keys(): readonly string[] {
    return this.#names.map((name) => workloadKey('Deployment', this.#source.namespace, name));
  }

  /** One comes, and when there are enough the oldest goes. */
  async turn(name: string): Promise<void> {
    const { namespace } = this.#source;
    await createAll(this.#arena.api, [workload('Deployment', namespace, name, { uses: [this.#source] })]);
    this.#names.push(name);
    const gone = this.#names.length > KEPT ? this.#names.shift() : undefined;
    if (gone) await this.#arena.api.call('DELETE', objectPath('Deployment', namespace, gone));
  }
}
