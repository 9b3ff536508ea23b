import { describe, expect, expectTypeOf, test } from 'vitest';
import type { ClusterView, InstanceEntry } from '../../domain/redis/cluster-view.ts';
import { type Field, rowsOf } from '../schema/field.ts';
import { INSTANCE, type InstanceStatus } from './instance-fields.ts';
import { type RedisClusterSpec, SPEC } from './spec-fields.ts';
import { STATUS } from './status-fields.ts';

const ROWS = [...rowsOf('spec', SPEC), ...rowsOf('status', STATUS)];

/** A field with what its elements or values are. */
const within = (field: Field): readonly Field[] => {
  if (field.type === 'array') return [field, ...within(field.items)];
  return field.type === 'map' ? [field, ...within(field.values)] : [field];
};

describe('the fields', () => {
  test('each says something, as a sentence', () => {
    for (const { path, field } of ROWS) {
      for (const each of within(field))
        expect([path, each.description]).toEqual([path, expect.stringMatching(/^[\w].+\.$/)]);
    }
  });

  test('required ones exist', () => {
    for (const field of ROWS.flatMap((row) => within(row.field))) {
      if (field.type !== 'object') continue;
      for (const name of field.required ?? []) expect(Object.keys(field.properties)).toContain(name);
    }
  });

  test('each rule has a sentence that says what was expected', () => {
    const rules = ROWS.flatMap(({ field }) => field.rules ?? []);
    expect(rules.length).toBeGreaterThan(8);
    for (const { message } of rules) expect(message).toMatch(/must|exclude|missing|counts only|is not for/);
  });
});

/** With a value in every field: an entry that the agent writes is one that the server keeps whole. */
const ENTRY: Required<InstanceEntry> = {
  role: 'slave',
  connected: true,
  replicationOffset: 1,
  connectedReplicas: 1,
  masterLinkStatus: 'up',
  state: 'Running',
  message: 'fine',
  keys: 1,
  observedGeneration: 1,
  config: { hz: { state: 'Applied', value: '10', message: 'fine' } },
  credentials: { id: 'abc', phase: 'Used', since: '2026-01-31T12:00:00Z', message: 'fine' },
  acl: { state: 'Applied', users: 1, message: 'fine' },
  tls: {
    state: 'Applied',
    leaf: 'ab',
    notAfter: '2026-01-31T12:00:00Z',
    trusted: ['ab'],
    signedBy: 'ab',
    phase: 'Settled',
    since: '2026-01-31T12:00:00Z',
    message: 'fine',
  },
};

/** Paths of what the schema would drop from a value. */
function dropped(path: string, value: unknown, field: Field): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (field.type === 'array')
    return Object.entries(value).flatMap(([at, each]) => dropped(`${path}[${at}]`, each, field.items));
  if (field.type === 'map')
    return Object.entries(value).flatMap(([key, each]) => dropped(`${path}.${key}`, each, field.values));
  if (field.type !== 'object') return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const known = field.properties[name];
    return known === undefined ? [`${path}.${name}`] : dropped(`${path}.${name}`, each, known);
  });
}

describe('the words of the program', () => {
  test('an entry of the status is kept whole', () => {
    expectTypeOf<InstanceEntry>().toExtend<InstanceStatus>();
    expect(dropped('entry', ENTRY, INSTANCE)).toEqual([]);
    expect(dropped('entry', { ...ENTRY, tls: { ...ENTRY.tls, other: 1 } }, INSTANCE)).toEqual(['entry.tls.other']);
  });

  test('the modes are the same', () => {
    expectTypeOf<NonNullable<RedisClusterSpec['mode']>>().toEqualTypeOf<ClusterView['mode']>();
  });
});
