import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { LogFields } from '../../telemetry/log.ts';
import { crashFields, onCrash } from './crash.ts';

test('what nobody has caught is logged, and the process ends with a code of its own', () => {
  const source = new EventEmitter();
  const said: [string, LogFields | undefined][] = [];
  const codes: unknown[] = [];
  const quiet = () => {};
  const error = (message: string, fields?: LogFields) => void said.push([message, fields]);
  const exit = (code?: unknown) => void codes.push(code);
  const forget = onCrash({ debug: quiet, info: quiet, warn: quiet, error }, source, exit as typeof process.exit);
  source.emit('uncaughtException', new TypeError('x is not a function'));
  expect(codes).toEqual([70]);
  expect(said[0]?.[1]).toMatchObject({ error: 'TypeError: x is not a function', at: expect.stringContaining('.ts') });
  forget();
  expect(source.listenerCount('uncaughtException')).toBe(0);
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

test('what may quote a password is left out', () => {
  const refusal = Object.assign(new Error('ERR Bad directive: requirepass hunter2\nhunter2'), { code: 'EPROTO' });
  expect(crashFields(refusal)).toMatchObject({ error: 'Error', code: 'EPROTO' });
  expect(JSON.stringify(crashFields(refusal))).not.toContain('hunter2');
  expect(crashFields('hunter2')).toEqual({ error: 'string' });
  for (const work of [
    () => JSON.parse('hunter2'),
    // Node quotes the value.
    () => Buffer.alloc('hunter2' as unknown as number),
    () => new Socket().connect({ port: 'hunter2' as unknown as number }),
  ]) {
    const fields = JSON.stringify(crashFields(thrownBy(work)));
    expect(fields).toMatch(/"error":"\w+Error"/);
    expect(fields).not.toContain('hunter2');
  }
});
