import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLog, type Log, type LogFields } from './log.ts';

function recorded(format: string, level: string): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const now = () => Date.UTC(2030, 0, 31, 12, 0, 0, 999);
  return { lines, log: createLog({ format, level, now, write: (line) => lines.push(line) }) };
}

const written = (format: string, message: string, fields?: LogFields): string => {
  const { log, lines } = recorded(format, 'info');
  log.info(message, fields);
  return lines.join('');
};

describe('text, as logrus writes it', () => {
  test.each<[string, LogFields | undefined, string]>([
    ['Starting Reloader', undefined, 'msg="Starting Reloader"'],
    ['done', { b: 2, a: 'x' }, 'msg=done a=x b=2'],
    ['m', { url: 'a/b@c^d+e-f_g.h', empty: '', quoted: 'a=b' }, 'msg=m empty= quoted="a=b" url=a/b@c^d+e-f_g.h'],
    ['m', { gone: undefined, yes: true }, 'msg=m yes=true'],
    ['m', { level: 'x', msg: 'y', time: 'z' }, 'msg=m fields.level=x fields.msg=y fields.time=z'],
    ['two\nlines "quoted"', { bell: '\x07\x9b\u2028' }, 'msg="two\\nlines \\"quoted\\"" bell="\\u0007\\u009b\\u2028"'],
  ])('%j %j', (message, fields, line) => {
    expect(written('', message, fields)).toBe(`time="2030-01-31T12:00:00Z" level=info ${line}\n`);
  });
});

test.each(['', 'json'])('whatever is said, it is one line that steers no terminal: format %j', (format) => {
  const steering = fc.constantFrom('\x1b', '\x07', '\x7f', '\x9b', '\n', '\r', '\u2028', '\u202e', '\u2066', '\u200f');
  const text = fc.string({ unit: fc.oneof(steering, fc.string({ unit: 'binary', maxLength: 3 })) });
  fc.assert(
    fc.property(text, text, (message, field) => {
      const line = written(format, message, { field });
      expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
      if (format === 'json') expect(JSON.parse(line)).toMatchObject({ msg: message, field });
    }),
  );
});

test('JSON has level, msg and time among the fields, sorted', () => {
  expect(written('json', 'say "hi"', { a: 1, reason: 'x', zone: true, time: 'y' })).toBe(
    '{"a":1,"fields.time":"y","level":"info","msg":"say \\"hi\\"","reason":"x","time":"2030-01-31T12:00:00Z","zone":true}\n',
  );
});

describe('levels', () => {
  const heard = (format: string, level: string): string[] => {
    const { log, lines } = recorded(format, level);
    log.debug('a');
    log.info('b');
    log.warn('c');
    log.error('d');
    return lines.map((line) => /level"?[=:]"?(\w+)/.exec(line)?.[1] ?? '');
  };

  test.each([
    ['trace', ['debug', 'info', 'warning', 'error']],
    ['debug', ['debug', 'info', 'warning', 'error']],
    ['info', ['info', 'warning', 'error']],
    ['warning', ['warning', 'error']],
    ['WARN', ['warning', 'error']],
    ['error', ['error']],
    ['fatal', []],
    ['panic', []],
  ])('%s', (level, expected) => {
    expect(heard('', level)).toEqual(expected);
    expect(heard('json', level)).toEqual(expected);
  });

  test('an unknown format is warned about, and the level is not applied', () => {
    expect(heard('JSON', 'error')).toEqual(['warning', 'info', 'warning', 'error']);
  });

  test('an unknown level is warned about, and stays info', () => {
    expect(heard('', 'loud')).toEqual(['warning', 'info', 'warning', 'error']);
  });
});
