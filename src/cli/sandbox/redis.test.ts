import { expect, test } from 'vitest';
import { introduction } from './redis.ts';

const io = { env: {}, stdout: () => {}, stderr: () => {}, signal: new AbortController().signal, terminal: {} };
const text = introduction([{ pod: 'redis-0', host: '127.9.0.1' }], 'review', io);

test('commands of one purpose stand together', () => {
  const lines = text.slice(text.indexOf('Try next:')).trimEnd().split('\n').slice(2);
  expect(lines.filter((line) => line.trim() === '')).toEqual([]);
  const at = lines.findIndex((line) => line.startsWith('  Stop one Redis'));
  expect(lines[at + 1]).toMatch(/^ {4}\.\/attune .* 'redis\.io\/fencedInstances=\["redis-2"\]'$/);
  expect(lines[at + 2]).toMatch(/^ {4}\.\/attune .* redis\.io\/fencedInstances-$/);
});

test('a client of their own: the authority goes to a file that nobody else can have put there', () => {
  expect(text).toMatch(/^ {4}ca=\$\(mktemp\) && .* >"\$ca"; REDISCLI_AUTH=.* --cacert "\$ca" -h 127\.9\.0\.1$/m);
  expect(text).not.toContain('/tmp/');
});
