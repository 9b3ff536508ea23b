import { setTimeout as delay } from 'node:timers/promises';
import { now } from './api.ts';
import type { Arena } from './arena.ts';
import type { Contender } from './contender.ts';
import type { Data, SourceName } from './objects.ts';
import type { Program } from './program.ts';
import { costFigures, latencyFigures, memoryFigures, type Scenario, type Stage, withContender } from './scenario.ts';
import { seededRandom } from './statistics.ts';
import type { Put } from './verdict.ts';

/** A source, who uses it, and what a change of it looks like. */
export interface Target {
  readonly source: SourceName;
  readonly workloads: readonly string[];
}

export interface Rhythm {
  readonly everyMs: number;
  /** How many writers keep this rhythm, each for itself. */
  readonly writers?: number;
}

/** Steady changes of sources, as Stakater Reloader's load tests have them, and what must come of them. */
export interface Load {
  readonly id: string;
  readonly number: string;
  readonly title: string;
  readonly rhythm: Rhythm;
  readonly flags?: readonly string[];
  readonly long?: boolean;
  /** How long what is due may take to be seen after the last change. */
  readonly settleMs?: number;
  readonly seconds?: number;
  setUp(arena: Arena): Promise<readonly Target[]>;
  /** Another change than of the usual value: gives what is to be rolled for it. */
  readonly change?: (arena: Arena, target: Target) => Promise<Put>;
  /** What happens beside the changes; gives the program that runs afterwards. */
  readonly beside?: (arena: Arena, load: Beside) => Promise<Program>;
}

export interface Beside {
  readonly contender: Contender;
  readonly program: Program;
  readonly seconds: number;
}

/** Changes random targets in a rhythm that does not wait for anybody; returns what the API server accepted. */
export async function drive(arena: Arena, load: Load, targets: readonly Target[], seconds: number): Promise<Put[]> {
  const puts: Put[] = [];
  const start = now();
  const writer = async (number: number): Promise<void> => {
    const random = seededRandom(number + 1);
    for (let turn = 0; turn * load.rhythm.everyMs < seconds * 1000; turn++) {
      const wait = start + turn * load.rhythm.everyMs - now();
      if (wait > 0) await delay(wait);
      const target = targets[Math.floor(random() * targets.length)];
      if (!target) return;
      puts.push(await (load.change ?? usualChange)(arena, target));
    }
  };
  await Promise.all(Array.from({ length: load.rhythm.writers ?? 1 }, (_, number) => writer(number)));
  return puts;
}

function usualChange(arena: Arena, { source, workloads }: Target): Promise<Put> {
  return arena.put(source, workloads);
}

/** Data of several keys of which one is new. */
export function changeOf(keys: (data: Data) => Data): NonNullable<Load['change']> {
  return (arena, { source, workloads }) => arena.put(source, workloads, keys(arena.freshData()));
}

export function loadScenario(load: Load): Scenario {
  const { id, number, title, long } = load;
  return {
    id,
    number,
    title,
    ...(long === undefined ? {} : { long }),
    async run(stage: Stage): Promise<void> {
      for (const contender of stage.contenders) {
        await runLoad(stage, load, contender);
        await stage.arena.clear(stage.contenders);
      }
    },
  };
}

async function runLoad(stage: Stage, load: Load, contender: Contender): Promise<void> {
  const { arena, quick, record } = stage;
  const seconds = quick ? 4 : (load.seconds ?? 20);
  const targets = await load.setUp(arena);
  await withContender(stage, contender, { flags: load.flags ?? [] }, async (started) => {
    let program = started;
    let puts: Put[] = [];
    let verdict = arena.verdict(puts);
    const start = now();
    const measured = await arena.measure(contender.name, program, async () => {
      const beside = load.beside?.(arena, { contender, program, seconds });
      puts = await drive(arena, load, targets, seconds);
      program = (await beside) ?? program;
      verdict = await arena.settled(puts, load.settleMs ?? 10_000, 1500);
      return program;
    });
    record({
      scenario: load.id,
      contender: contender.name,
      latencies: verdict.latencies,
      calls: measured.calls,
      figures: {
        'changes per s': (puts.length * 1000) / (now() - start),
        changes: puts.length,
        expected: verdict.expected,
        rollouts: verdict.rollouts,
        missed: verdict.missed,
        'marks behind': verdict.behind,
        surplus: verdict.surplus,
        ...latencyFigures(verdict.latencies),
        ...costFigures(measured, verdict.rollouts || puts.length),
        ...memoryFigures(program),
      },
    });
    if (program !== started) await arena.stop(program);
  });
}
