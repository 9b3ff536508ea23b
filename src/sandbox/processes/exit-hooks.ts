/**
 * Work for the moment in which this process ends before it could clean up normally: after a second Ctrl-C, or an
 * exception that nobody caught. Hooks are synchronous, as no promise is resolved any more. They do not run after
 * kill -9, nor after a crash of Node itself.
 */
const hooks: (() => void)[] = [];

/** Adds a hook and returns the function that removes it. The newest hook runs first. */
export function onExit(hook: () => void): () => void {
  if (hooks.length === 0) process.once('exit', runAll);
  hooks.push(hook);
  return () => {
    const at = hooks.indexOf(hook);
    if (at >= 0) hooks.splice(at, 1);
    if (hooks.length === 0) process.removeListener('exit', runAll);
  };
}

function runAll(): void {
  // A signal that nobody handles would kill this process in the middle of its hooks.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, () => {});
  for (let hook = hooks.pop(); hook; hook = hooks.pop()) {
    try {
      hook();
    } catch {
      // The other hooks still have to run, and the next start removes what this one could not.
    }
  }
}
