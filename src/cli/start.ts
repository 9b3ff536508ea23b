import { runCli } from './cli.ts';
import { outputTaken, processIo } from './terminal/process-io.ts';
import { STOPPED, stopSignal } from './terminal/signals.ts';

const signal = stopSignal();
const code = await runCli(process.argv.slice(2), processIo(signal));
// A command that was stopped meanwhile has not told everything.
process.exit((await outputTaken(signal)) ? code : code || STOPPED);
