import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerParser, dateIn } from './answer-parser.ts';

/** Everything that is told, the pieces of a body put together. */
function read(pieces: readonly (string | Buffer)[], closed = false) {
  const told: { status: number; retryAfter?: string | undefined; body: string; reusable?: boolean }[] = [];
  const parser = new AnswerParser({
    head: (status, retryAfter) => told.push({ status, ...(retryAfter !== undefined && { retryAfter }), body: '' }),
    data: (bytes) => {
      const last = told.at(-1);
      if (last) last.body += bytes.toString('latin1');
    },
    end: (reusable) => Object.assign(told.at(-1) ?? {}, { reusable }),
  });
  for (const piece of pieces) parser.push(Buffer.from(piece as string, 'latin1'));
  return { told, closedWell: closed && parser.close() };
}

test('a body with a length', () => {
  const { told } = read(['HTTP/1.1 200 OK\r\nContent-Length: 3\r\nDate: x\r\n\r\nabc']);
  expect(told).toEqual([{ status: 200, body: 'abc', reusable: true }]);
});

test.each([
  [
    'anywhere',
    'HTTP/1.1 200 OK\r\nx: y\r\nDate: Thu, 01 Jan 2026 12:00:00 GMT\r\nz: date: x',
    'Thu, 01 Jan 2026 12:00:00 GMT',
  ],
  ['last, and in small letters', 'HTTP/1.1 200 OK\r\ndate:\tnow', 'now'],
  ['nowhere', 'HTTP/1.1 200 OK\r\nupdate: x\r\nlast-date: y', undefined],
])('the date stands %s', (_, head, date) => {
  const heads: string[] = [];
  const parser = new AnswerParser({ head: (...[, , text]) => heads.push(text), data: () => {}, end: () => {} });
  for (const piece of [`${head}\r\n`, 'content-length: 0\r\n', '\r\n']) parser.push(Buffer.from(piece));
  expect(heads.map(dateIn)).toEqual([date]);
});

test('a body in chunks, with extensions and trailers', () => {
  const text =
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nx: y\r\n\r\n';
  expect(read([text]).told).toEqual([{ status: 200, body: 'abc0123456789', reusable: true }]);
});

test('a body until the connection is closed', () => {
  const { told, closedWell } = read(['HTTP/1.1 200 OK\r\n\r\nabc', 'def'], true);
  expect(told).toEqual([{ status: 200, body: 'abcdef', reusable: false }]);
  expect(closedWell).toBe(true);
});

test.each([
  ['inside a head', 'HTTP/1.1 200 OK\r\nContent-'],
  ['inside a body', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc'],
  ['between chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'],
])('closed %s is no end', (_, text) => {
  expect(read([text], true).closedWell).toBe(false);
});

test.each([204, 304])('%i has no body', (status) => {
  expect(read([`HTTP/1.1 ${status} x\r\n\r\n`]).told).toEqual([{ status, body: '', reusable: true }]);
});

test('news before the answer are passed over', () => {
  const text = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nRetry-After: 7\r\ncontent-length: 0\r\n\r\n';
  expect(read([text]).told).toEqual([{ status: 429, retryAfter: '7', body: '', reusable: true }]);
});

test.each([
  ['the server says close', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\nConnection: close\r\n\r\na'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na'],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
  ],
  ['more follows than was asked for', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc'],
])('not to be used again: %s', (_, text) => {
  expect(read([text]).told).toEqual([{ status: 200, body: 'a', reusable: false }]);
});

test.each([
  ['not HTTP', '{"a":1}\r\n\r\n'],
  ['a chunk without a size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nabc'],
  ['a chunk whose size is more than a number', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3g\r\nabc'],
  ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n'],
  ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nabcde'],
  ['a length thrice', `HTTP/1.1 200 OK${'\r\ncontent-length: 1'.repeat(3)}\r\n\r\na`],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n'],
  ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`],
])('refused: %s', (_, text) => {
  expect(() => read([text])).toThrow();
});

const chunked = (pieces: readonly string[]): string =>
  `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`;

test('what is told does not depend on where the network cuts', () => {
  const body = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', ':', '\u00ff'), minLength: 1 });
  const answer = fc.oneof(
    body.map((text) => ({ text, wire: `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}` })),
    fc.array(body, { minLength: 1 }).map((pieces) => ({
      text: pieces.join(''),
      wire: `HTTP/1.1 200 OK\r\nx: y\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(pieces)}`,
    })),
  );
  fc.assert(
    fc.property(
      fc.array(answer, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (all, cuts) => {
        const pieces = all.flatMap(({ wire }) => {
          const places = [0, ...cuts.map((cut) => cut % (wire.length + 1)), wire.length].sort((a, b) => a - b);
          return places.slice(1).map((endpoint, index) => wire.slice(places[index], endpoint));
        });
        expect(read(pieces).told).toEqual(all.map(({ text }) => ({ status: 200, body: text, reusable: true })));
      },
    ),
  );
});
