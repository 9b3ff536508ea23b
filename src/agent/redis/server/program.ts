/** What it means that a program could not be started, and what to do. */
export function programProblem(program: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') {
    return `there is no program ${program}: install redis-server (7.0 or newer), or say where it is with --redis-server`;
  }
  if (code === 'EACCES') return `${program} may not be executed by this user: see its permissions`;
  return `${program} could not be started: ${error instanceof Error ? error.message : String(error)}`;
}
