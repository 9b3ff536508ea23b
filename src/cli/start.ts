import { runCli } from './cli.ts';
import { processIo } from './terminal/process-io.ts';
import { stopSignal } from './terminal/signals.ts';

process.exit(await runCli(process.argv.slice(2), processIo(stopSignal())));
