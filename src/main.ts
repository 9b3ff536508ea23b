#!/usr/bin/env node
import { runCli } from './cli/cli.ts';
import { processIo } from './cli/process-io.ts';
import { stopSignal } from './cli/signals.ts';

process.exit(await runCli(process.argv.slice(2), processIo(stopSignal())));
