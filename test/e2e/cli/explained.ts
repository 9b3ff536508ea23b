import { expect } from 'vitest';
import type { WorkloadReport } from '../../../src/cli/explain/explain-text.ts';
import type { Explanation } from '../../../src/cli/explain/explanation.ts';
import type { Stage } from '../../support/controller.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf, type WorkloadOptions, workload } from '../../support/workloads.ts';
import { commandLine } from './run.ts';

export const AUTO = { 'reloader.stakater.com/auto': 'true' };
/** Other test files install Attune too, and its flags would count. */
export const DEFAULTS = '--reload-strategy=env-vars';

/** What `attune explain` says in the first namespace of a stage, asked by an administrator. */
export function explainer(place: Pick<Stage, 'home' | 'space'>) {
  const attune = commandLine(undefined, { ATTUNE_NAMESPACE: place.home });
  const explained = async (name: string, ...flags: string[]): Promise<WorkloadReport> => {
    const { code, stdout, stderr } = await attune('explain', name, '-n', place.space, '-o', 'json', DEFAULTS, ...flags);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return JSON.parse(stdout);
  };
  const about = async (name: string, ...flags: string[]): Promise<Explanation> => {
    const [first] = (await explained(name, ...flags)).sources;
    if (!first) throw new Error(`${name} has no source`);
    return first;
  };
  const inWords = async (name: string, ...flags: string[]): Promise<string> => {
    const { stdout } = await attune('explain', name, '-n', place.space, DEFAULTS, ...flags);
    return stdout.replaceAll(/\s+/g, ' ');
  };
  const create = async (name: string, options: WorkloadOptions, kind: 'Deployment' | 'StatefulSet' = 'Deployment') => {
    await api().create(pathOf(kind, place.space), workload(kind, name, options));
  };
  return { attune, explained, about, inWords, create };
}

/** Times on objects have no fractions: what comes after this is later than what was there before. */
export async function nextSecond(): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  await until(() => Math.floor(Date.now() / 1000) > now, { what: 'the next second' });
}
