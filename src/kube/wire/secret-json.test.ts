import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSecrets } from './secret-json.ts';

const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value));
const key = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('data', 'items', 'object', 'metadata', '__proto__'),
);
const json = fc.jsonValue({ maxDepth: 3 });
const secret = fc.record({
  kind: fc.constant('Secret'),
  metadata: fc.record({
    name: fc.string({ unit: 'grapheme' }),
    annotations: fc.dictionary(key, fc.string({ maxLength: 8 }), { noNullPrototype: true }),
    managedFields: json,
  }),
  data: fc.dictionary(key, bytes, { noNullPrototype: true }),
  immutable: json,
});
type Secret = typeof secret extends fc.Arbitrary<infer T> ? T : never;

/** As the server sends it. */
const sent = (object: Secret) => ({
  ...object,
  data: Object.fromEntries(Object.entries(object.data).map(([name, value]) => [name, value.toString('base64')])),
});
/** An object alone, as an event, and in a list. */
const forms: readonly (<T>(object: T) => unknown)[] = [
  (object) => object,
  (object) => ({ type: 'MODIFIED', object }),
  (object) => ({ kind: 'SecretList', items: [object, object], metadata: { resourceVersion: '1' } }),
];
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('it is what JSON says, with the data as bytes, however it is written', () => {
  fc.assert(
    fc.property(secret, fc.constantFrom(undefined, 1, '\t'), fc.constantFrom(...forms), (object, space, form) => {
      const opened = parseSecrets(Buffer.from(JSON.stringify(form(sent(object)), undefined, space)));
      expect(plain(opened?.value)).toEqual(plain(form(object)));
    }),
  );
});

test('what is cut off is not JSON', () => {
  const text = JSON.stringify({
    type: 'ADDED',
    object: { metadata: { name: 'a' }, data: { pin: 'MTIzNA==' }, more: [1] },
  });
  for (let end = 0; end < text.length; end += 1) expect(parseSecrets(Buffer.from(text.slice(0, end)))).toBeUndefined();
});

test('nor is anything else', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), fc.nat(), fc.string({ maxLength: 2 }), (text, at, more) => {
      const odd = text.slice(0, at % (text.length + 1)) + more + text.slice(at % (text.length + 1));
      let value: unknown;
      try {
        value = JSON.parse(odd);
      } catch {}
      const opened = parseSecrets(Buffer.from(odd));
      if (value === undefined) expect(opened).toBeUndefined();
      else expect(opened).toBeDefined();
    }),
    { numRuns: 1000 },
  );
});

test('of the data nothing is left once it is erased', () => {
  const opened = parseSecrets(Buffer.from('{"data":{"pin":"MTIzNA==","empty":"","odd":7}}'));
  const data = (opened?.value as { readonly data?: Readonly<Record<string, Buffer>> } | undefined)?.data ?? {};
  expect(String(data['pin'])).toBe('1234');
  expect(data['empty']).toHaveLength(0);
  expect(data['odd']).toBe(7);
  opened?.erase();
  expect([...(data['pin'] ?? [])]).toEqual([0, 0, 0, 0]);
});

test('no string has anything of the data, wherever a copy of it stands', () => {
  const applied = JSON.stringify({ data: { pin: 'MTIzNDU2Nzg=' }, stringData: { pin: '12345678' } });
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied, flag: 'true' };
  const object = {
    metadata: { name: 'db', annotations },
    data: { pin: 'MTIzNDU2Nzg=' },
    stringData: { pin: '12345678' },
  };
  for (const form of forms) {
    const strings: string[] = [];
    const opened = parseSecrets(Buffer.from(JSON.stringify(form(object))));
    JSON.stringify(opened?.value, (_name, value: unknown) => {
      if (typeof value === 'string') strings.push(value);
      return value;
    });
    expect(strings).toContain('true');
    expect(strings.filter((text) => /MTIzNDU2|12345678/.test(text))).toEqual([]);
  }
});

test('names that every object has are names like others', () => {
  const text = '{"constructor":1,"__proto__":{"data":{"a":"b"}},"data":{"toString":"MTIzNA==","__proto__":"NQ=="}}';
  const { value } = parseSecrets(Buffer.from(text)) ?? {};
  expect(JSON.parse(JSON.stringify(value))).toEqual(
    JSON.parse(
      text
        .replace('"MTIzNA=="', JSON.stringify(Buffer.from('1234')))
        .replace('"NQ=="', JSON.stringify(Buffer.from('5'))),
    ),
  );
});

test('a name is the same however it is spelled', () => {
  const opened = parseSecrets(Buffer.from('{"\\u0064ata" : {"p\\u0069n":"MTIzNA=="}}'));
  expect(opened?.value).toEqual({ data: { pin: Buffer.from('1234') } });
});
