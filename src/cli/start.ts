import { runCli } from './cli.ts';
import { processIo } from './process-io.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    // The second one means it.
    if (stop.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
    stop.abort(new Error(`stopped by ${name}`));
  });
}

process.exit(await runCli(process.argv.slice(2), processIo(stop.signal)));
