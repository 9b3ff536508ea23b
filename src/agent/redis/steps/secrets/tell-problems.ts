import type { Problem } from '../../../../domain/redis/cluster-view.ts';
import type { PrepareContext } from '../step.ts';
import type { SecretsStateFile } from './secrets-state.ts';

export interface FileProblems {
  readonly passwords: readonly Problem[];
  readonly acl: Problem | undefined;
}

/** One Event for each thing that is wrong with a file, until it is right again. */
export async function tellProblems(
  { event, settings }: PrepareContext,
  state: SecretsStateFile,
  { passwords, acl }: FileProblems,
): Promise<void> {
  const { told = [] } = state.value;
  const sentences = [
    ...passwords.map((problem) => ['SecretRefused', inWords(problem)] as const),
    ...(acl ? [['ACLRefused', inWords(acl)] as const] : []),
  ];
  const now = sentences.map(([, words]) => words);
  if (now.length === told.length && now.every((words) => told.includes(words))) return;
  await state.save({ ...state.value, told: now });
  for (const [reason, words] of sentences)
    if (!told.includes(words)) event('Warning', reason, `${settings.podName}: ${words}; Redis goes on as before`);
}

const inWords = ({ where, what }: Problem): string => `${where} ${what}`;
