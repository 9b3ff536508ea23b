import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { now } from './api.ts';
import { BenchCluster, loadNow } from './bench-cluster.ts';
import { SCENARIOS } from './catalogue.ts';
import { type Contender, chartNodeOptions, imageAgent } from './contender.ts';
import { type BenchOptions, HELP, parseOptions } from './options.ts';
import { growthPicture, latencyPicture } from './pictures.ts';
import { idleShare } from './process-figures.ts';
import { report } from './report.ts';
import type { Result } from './results.ts';
import type { Scenario } from './scenario.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The bundle as it is now: a build that happens meanwhile must not change what is measured. */
function ours({ attune }: BenchOptions, dir: string): Contender {
  const root = join(import.meta.dirname, '..');
  const copy = join(dir, 'bundle');
  cpSync(join(root, 'dist'), copy, { recursive: true });
  const program = join(copy, 'attune.mjs');
  const command = `env NODE_OPTIONS='${chartNodeOptions()}' '${process.execPath}' '${program}' {flags}`;
  const agent = attune === undefined ? { agent: imageAgent(process.execPath, program) } : {};
  return { name: 'attune', command: attune ?? command, ...agent, atOnce: ['--quiet-period=0'], rights: 'of the chart' };
}

async function runScenario(scenario: Scenario, run: BenchRun): Promise<void> {
  const { contenders, dir, options, results } = run;
  const cluster = await (scenario.storeBytes === undefined ? run.shared() : run.open(scenario.storeBytes));
  await waitForIdleMachine(options.patienceMs);
  const load = loadNow();
  say(`\n${scenario.id}: ${scenario.title} (load ${load.toFixed(2)})`);
  const breaks = cluster.watcher.breaks;
  try {
    await scenario.run({
      cluster,
      contenders,
      quick: options.quick,
      say: (line) => say(`  ${line}`),
      record(result) {
        results.push({ ...result, load });
        const figures = Object.entries(result.figures).map(([name, value]) => `${name} ${+value.toFixed(2)}`);
        say(`  ${result.contender}${result.size === undefined ? '' : ` at ${result.size}`}: ${figures.join(', ')}`);
        publish(dir, results, run.about);
      },
    });
    if (cluster.watcher.breaks > breaks) say(`  the bench's own watch broke ${cluster.watcher.breaks - breaks} times`);
  } catch (error) {
    // The other scenarios run all the same.
    process.exitCode = 1;
    say(`  broken off: ${error instanceof Error ? error.message : String(error)}`);
    await cluster.stopAll();
  } finally {
    if (scenario.storeBytes === undefined) await cluster.clear(contenders);
    else await cluster.close();
  }
}

const IDLE_SHARE = 0.85;

async function waitForIdleMachine(patienceMs: number): Promise<void> {
  const deadline = now() + patienceMs;
  while (now() < deadline && (await idleShare()) < IDLE_SHARE);
}

/** Written after each result, so that an interrupted run keeps what it has measured. */
function publish(dir: string, results: readonly Result[], about: readonly string[]): void {
  const files: Readonly<Record<string, string | undefined>> = {
    'results.json': `${JSON.stringify({ about, results }, undefined, 1)}\n`,
    'report.md': `${report(results, about)}\n`,
    'latency.svg': latencyPicture(results),
    'growth.svg': growthPicture(results),
  };
  for (const [name, text] of Object.entries(files)) if (text !== undefined) writeFileSync(join(dir, name), text);
}

/** Where and how it was measured: figures of different machines cannot be compared. */
function aboutRun(options: BenchOptions, contenders: readonly Contender[]): string[] {
  const [first, ...others] = cpus();
  return [
    `${others.length + 1} × ${first?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 1e9)} GB, Linux ${release()}`,
    `Node ${process.version}, ${chartNodeOptions()}; etcd and API server of the sandbox, nothing else in the cluster`,
    `${options.quick ? 'a quick run' : 'a full run'}: ${options.scenarios.map(({ id }) => id).join(', ')}`,
    ...contenders.slice(1).map(({ name, command }) => `peer ${name}: \`${command}\``),
  ];
}

interface BenchRun {
  readonly about: readonly string[];
  readonly contenders: readonly Contender[];
  readonly dir: string;
  readonly options: BenchOptions;
  readonly results: Result[];
  readonly open: (storeBytes: number) => Promise<BenchCluster>;
  /** The API server of all scenarios that need none of their own. */
  readonly shared: () => Promise<BenchCluster>;
}

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2), SCENARIOS);
  if (options === undefined) {
    process.stdout.write(HELP(SCENARIOS));
    return;
  }
  const { dir } = options;
  mkdirSync(dir, { recursive: true });
  const contenders: Contender[] = [ours(options, dir), ...options.peers];
  const clusters: BenchCluster[] = [];
  const open = async (storeBytes?: number): Promise<BenchCluster> => {
    const cluster = await BenchCluster.open(join(dir, 'work'), (line) => say(`sandbox: ${line}`), storeBytes);
    clusters.push(cluster);
    return cluster;
  };
  let shared: Promise<BenchCluster> | undefined;
  const run: BenchRun = {
    about: aboutRun(options, contenders),
    contenders,
    dir,
    options,
    open,
    results: [],
    shared: () => {
      shared ??= open();
      return shared;
    },
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void closeAll(clusters).finally(() => process.exit(130)));
  }
  try {
    // A scenario with a large store gets the machine for itself.
    const small = options.scenarios.filter(({ storeBytes }) => storeBytes === undefined);
    for (const scenario of small) await runScenario(scenario, run);
    await closeAll(clusters);
    for (const scenario of options.scenarios) if (!small.includes(scenario)) await runScenario(scenario, run);
  } finally {
    await closeAll(clusters);
  }
  process.stdout.write(`${report(run.results, run.about)}\n`);
}

async function closeAll(clusters: BenchCluster[]): Promise<void> {
  for (const cluster of clusters.splice(0)) await cluster.close();
}

await main();
