/** What a server sends to one request, in the pieces in which it arrives. */
export interface Answer {
  /** Stands in head and body of this answer, and of no other. */
  readonly tag: string;
  readonly pieces: readonly Buffer[];
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

interface Read {
  readonly status: number;
  readonly body: string;
  /** What follows the answer. */
  readonly rest: string;
  /** Nothing in the answer itself speaks against another exchange on the connection. */
  readonly reusable: boolean;
}

/**
 * The one answer that the text begins with, by the letter of RFC 9112 and all at once; undefined where there is none, or
 * none yet. A body without a length ends when the connection is closed.
 */
export function readStrictly(text: string, isClosed = false): Read | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const [, minor, code] = /^HTTP\/1\.(\d) (\d{3})(?: .*)?$/s.exec(statusLine) ?? [];
  const status = Number(code);
  const after = text.slice(end + 4);
  if (!status) return undefined;
  if (status < 200) return readStrictly(after, isClosed);
  const encodings = valuesOf(lines, 'transfer-encoding');
  const lengths = valuesOf(lines, 'content-length');
  const framings = encodings.length + lengths.length;
  if (framings > 2) return undefined;
  const isLast = minor === '0' || valuesOf(lines, 'connection').some((value) => /^[^\r]*\bclose\b/i.test(value));
  const body = status === 204 || status === 304 ? { body: '', rest: after } : bodyIn(after, encodings, lengths);
  if (body === 'until closed') return isClosed ? { status, body: after, rest: '', reusable: false } : undefined;
  return body && { status, ...body, reusable: framings < 2 && !isLast };
}

const valuesOf = (lines: readonly string[], name: string): readonly string[] =>
  lines
    .filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).replace(/^[ \t]+|[ \t]+$/g, ''));

type Body = Omit<Read, 'status' | 'reusable'>;

function bodyIn(
  text: string,
  encodings: readonly string[],
  lengths: readonly string[],
): Body | 'until closed' | undefined {
  if (encodings.some((value) => value.toLowerCase() === 'chunked')) return unchunked(text);
  const [length] = lengths;
  if (encodings.length > 0 || length === undefined) return 'until closed';
  if (lengths.some((value) => !/^\d{1,15}$/.test(value)) || text.length < Number(length)) return undefined;
  return { body: text.slice(0, Number(length)), rest: text.slice(Number(length)) };
}

function unchunked(text: string): Body | undefined {
  let body = '';
  let rest = text;
  for (;;) {
    const [line, digits = ''] = /^([\da-f]{1,13})[ \t]*(?:;(?:(?!\r\n).)*)?\r\n/is.exec(rest) ?? [];
    if (line === undefined) return undefined;
    const size = Number.parseInt(digits, 16);
    rest = rest.slice(line.length);
    if (size === 0) break;
    if (rest.slice(size, size + 2) !== '\r\n') return undefined;
    body += rest.slice(0, size);
    rest = rest.slice(size + 2);
  }
  const [trailers] = /^(?:(?:(?!\r\n).)+\r\n)*\r\n/s.exec(rest) ?? [];
  return trailers === undefined ? undefined : { body, rest: rest.slice(trailers.length) };
}

/** Answers to request after request: a few in order, most of them damaged. */
export function answers(random: () => number): (id: number) => Answer {
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  return () => {
    const tag = `#${random().toString(36).slice(2).padEnd(9, '0').slice(0, 9)}#`;
    let text = properAnswer(tag, below, pick);
    for (let left = below(4); left > 0; left -= 1) text = pick(DAMAGES)(text, below, pick);
    return { tag, pieces: cut(text, below) };
  };
}

type Below = (limit: number) => number;
type Pick = <T>(of: readonly T[]) => T;

function properAnswer(tag: string, below: Below, pick: Pick): string {
  const body = pick(['', tag, `{"a":"${tag}","b":[${tag}]}`, tag.repeat(1 + below(20))]);
  const fields = [`Date: ${tag}`, `retry-after: ${tag}`, 'Content-Type: application/json'].slice(below(4));
  const chunks = body === '' ? [] : [body.slice(0, 7), body.slice(7)].filter((chunk) => chunk !== '');
  const chunked = chunks
    .map((chunk) => `${chunk.length.toString(16)}${pick(['', ';a=b', ' '])}\r\n${chunk}\r\n`)
    .join('');
  const head = (status: string, field: string): string =>
    [`HTTP/1.1 ${status}`, ...fields, ...(field ? [field] : [])].join('\r\n').concat('\r\n\r\n');
  const proper = [
    () => head('200 OK', `Content-Length: ${body.length}`) + body,
    () => head('404 Not Found', `content-length:${body.length}`) + body,
    () => `${head('200 OK', 'Transfer-Encoding: chunked')}${chunked}0\r\n${pick(['', `x: ${tag}\r\n`])}\r\n`,
    () => head('204 No Content', ''),
    () => `HTTP/1.1 100 Continue\r\n\r\n${head('201 Created', `content-length: ${body.length}`)}${body}`,
    () => head('200 OK', '') + body,
  ];
  return pick(proper)();
}

type Damage = (text: string, below: Below, pick: Pick) => string;

/** Puts something in the place of a part of the text. */
const spliced = (text: string, at: number, length: number, instead: string): string =>
  text.slice(0, at) + instead + text.slice(at + length);

const BYTES = [
  '\r\n',
  '\r',
  '\n',
  ' ',
  '\0',
  ':',
  ';',
  '0',
  '5',
  'a',
  'F',
  '-',
  '\xff',
  'HTTP/1.1 200 OK\r\n',
  '0\r\n\r\n',
];

const DAMAGES: readonly Damage[] = [
  // A byte becomes another, or some come in between, or go, or come twice.
  (text, below) => spliced(text, below(text.length), 1, String.fromCharCode(below(256))),
  (text, below, pick) => spliced(text, below(text.length + 1), 0, pick(BYTES)),
  (text, below) => spliced(text, below(text.length), 1 + below(12), ''),
  (text, below) => {
    const at = below(text.length);
    return spliced(text, at, 0, text.slice(at, at + 1 + below(30)));
  },
  // Cut off.
  (text, below) => text.slice(0, below(text.length)),
  // More than was asked for: bytes, or an answer that nobody asked for.
  (text, _, pick) => text + pick(BYTES),
  (text) => text + text,
  // The status line.
  (text, _, pick) =>
    text.replace(
      /^HTTP\/1.1 \d*/,
      pick([
        'HTTP/1.0 200',
        'HTTP/2 200',
        'HTTP/1.1 2000',
        'HTTP/1.1 20',
        'HTTP/1.1  200',
        'http/1.1 200',
        'HTTP/1.1 101',
      ]),
    ),
  (text, _, pick) => text.replace(/^HTTP\/1.1 \d*/, pick(['HTTP/1.1 204', 'HTTP/1.1 304', 'HTTP/1.1 500'])),
  // The length, and what contradicts it.
  (text, below) => text.replace(/(length: ?)(\d+)/i, (_, name, digits) => name + (Number(digits) + below(9) - 4)),
  (text, _, pick) =>
    text.replace(
      /(length: ?)(\d+)/i,
      `$1${pick(['$2, $2', '0x$2', '$2x', '+$2', '', '$2 $2', '9'.repeat(30), '$2;', '0$2'])}`,
    ),
  (text, _, pick) =>
    text.replace(
      '\r\n',
      () => `\r\n${pick(['content-length: 3', 'Content-Length: 0', 'transfer-encoding: chunked'])}\r\n`,
    ),
  (text, _, pick) =>
    text.replace(
      /encoding: chunked/i,
      `Encoding: ${pick(['gzip', 'gzip, chunked', 'xchunked', 'chunked, gzip', 'CHUNKED'])}`,
    ),
  (text, _, pick) => text.replace(/(length|encoding): ?/i, pick(['$1 : ', '$1:\r\n ', '$1:\t', '$1\n: '])),
  // The sizes of chunks.
  (text, below) => text.replace(/\r\n[\da-f]+(?=[; \r])/i, () => `\r\n${below(40).toString(16)}`),
  (text, _, pick) =>
    text.replace(
      /(\r\n)([\da-f]+)(?=[; \r])/i,
      `$1${pick(['-$2', '0x$2', '$2g', ' $2', '', 'f'.repeat(20), '000$2', '$2 x'])}`,
    ),
  // Line ends, and a server that says goodbye.
  (text) => text.replace(/\r\n/g, '\n'),
  (text) => text.replace('\r\n', '\r\nConnection: Close\r\n'),
];

/**
 * In up to five pieces. Between an answer and what follows it there is no cut where that begins like an answer, too: if
 * it came only after the next request, nobody could tell whose it is.
 */
function cut(text: string, below: Below): readonly Buffer[] {
  const rest = readStrictly(text)?.rest ?? '';
  const isAnswer = rest !== '' && 'HTTP/1.'.startsWith(rest.slice(0, 7));
  const places = Array.from({ length: below(5) }, () => below(text.length + 1));
  const cuts = [0, ...places.sort((a, b) => a - b), text.length].filter(
    (place) => !isAnswer || place !== text.length - rest.length,
  );
  return cuts
    .slice(1)
    .map((place, index) => Buffer.from(text.slice(cuts[index], place), 'latin1'))
    .filter(({ length }) => length > 0);
}
