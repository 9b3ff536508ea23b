import { runCli } from './cli.ts';
import { processIo } from './process-io.ts';
import { stopSignal } from './signals.ts';

process.exit(await runCli(process.argv.slice(2), processIo(stopSignal())));
