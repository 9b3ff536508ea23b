import type { Log, LogFields } from '../../telemetry/log.ts';

/** The exit code of an error in the program itself: whoever supervises it starts it again. */
export const INTERNAL_ERROR = 70;

/** Logs what nobody has caught and ends the process, until the function that is returned is called. */
export function onCrash(log: Log, source: NodeJS.EventEmitter = process, exit = process.exit): () => void {
  const crash = (error: unknown): void => {
    log.error('The agent ends by an error of its own, and has to be started again', crashFields(error));
    exit(INTERNAL_ERROR);
  };
  source.on('uncaughtException', crash);
  return () => void source.off('uncaughtException', crash);
}

/**
 * What can be said of an error that nobody expected. Its message is left out unless it is of the language itself: what
 * Redis, a parser, a file or Node says may quote a password.
 */
export function crashFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const { code } = error as NodeJS.ErrnoException;
  const isOfLanguage = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  const isOfNode = typeof code === 'string' && code.startsWith('ERR_');
  return {
    error: isOfLanguage && !isOfNode ? `${error.name}: ${error.message}` : error.name,
    code: typeof code === 'string' ? code : undefined,
    at: frames.map((frame) => frame.trim().slice('at '.length)).join(' < ') || undefined,
  };
}
