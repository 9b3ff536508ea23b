import { expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import { ReplacementJournal } from './replacement-journal.ts';
import { Replacements } from './replacements.ts';

const REF = { kind: 'Job', namespace: 'shop', name: 'once' } as const;
const EDIT = { env: [], annotations: {} } as unknown as TemplateEdit;
const job = (uid: string, resourceVersion = '1', more = {}): KubeObject => ({
  metadata: { name: 'once', namespace: 'shop', uid, resourceVersion, ...more },
});
const decidedOn = (resourceVersion: string) =>
  ({ workload: { ref: REF, uid: 'old', resourceVersion } }) as unknown as WorkloadState;

interface Store {
  job: KubeObject | undefined;
  readonly journal: Record<string, string | null>;
}

function answerJournal(store: Store, exchange: Exchange): void {
  if (exchange.verb === 'patch') Object.assign(store.journal, JSON.parse(exchange.body).data);
  const data = Object.fromEntries(Object.entries(store.journal).filter(([, value]) => value !== null));
  exchange.json(200, { metadata: { name: 'attune-replacing', resourceVersion: '1', uid: 's' }, data });
}

function answerCreate(store: Store, exchange: Exchange): void {
  const isTaken = exchange.query.has('dryRun') || store.job !== undefined;
  if (!isTaken) store.job = job('new');
  if (isTaken) exchange.status(409, 'AlreadyExists');
  else exchange.json(201, store.job);
}

function answerDelete(store: Store, exchange: Exchange): void {
  const { uid, resourceVersion } = JSON.parse(exchange.body).preconditions;
  const { metadata } = store.job as KubeObject;
  const isSame = uid === metadata.uid && [undefined, metadata.resourceVersion].includes(resourceVersion);
  if (isSame) store.job = undefined;
  exchange.status(isSame ? 200 : 409, isSame ? '' : 'Conflict');
}

/** A server with one Job and one journal; `refuse` may answer in its stead. */
async function world(refuse: (exchange: Exchange) => boolean = () => false, keepsJournal = true) {
  const clock = virtualClock();
  const now: Store = { job: job('old'), journal: {} };
  const answer = (exchange: Exchange): void => {
    if (refuse(exchange)) return;
    if (exchange.path.includes('/secrets')) answerJournal(now, exchange);
    else if (exchange.verb === 'create') answerCreate(now, exchange);
    else if (!now.job) exchange.status(404, 'NotFound');
    else if (exchange.verb === 'delete') answerDelete(now, exchange);
    else exchange.json(200, now.job);
  };
  const { client, api } = await startClient(answer);
  const stop = new AbortController();
  const stuck: string[] = [];
  const resumed: string[] = [];
  const withoutRoom: string[] = [];
  const journal = new ReplacementJournal({
    client,
    namespace: keepsJournal ? 'attune' : undefined,
    unsafe: () => {},
    noRoom: ({ namespace, name }) => void withoutRoom.push(`${namespace}/${name}`),
  });
  const replacements = new Replacements({
    client,
    clock,
    journal,
    signal: stop.signal,
    stuck: (_ref, error) => stuck.push(error.reason),
    resumed: (ref) => void resumed.push(ref.name),
  });
  return {
    ...{ clock, now, api, journal, replacements, stuck, stop, resumed, withoutRoom },
    open: () => Object.values(now.journal).filter((value) => value !== null).length,
  };
}

test('a Job goes, and another comes', async () => {
  const { replacements, now, open } = await world();
  const { finished, late } = await replacements.replace(decidedOn('1'), EDIT);
  expect([(await finished)?.metadata.uid, late]).toEqual(['new', undefined]);
  expect(now.job?.metadata.uid).toBe('new');
  expect(open()).toBe(0);
});

test('from the deletion on the new one is created as soon as the server lets us, whoever still asks', async () => {
  let refusals = 3;
  const { clock, replacements, now, open, stuck } = await world((exchange) => {
    if (exchange.verb !== 'create' || exchange.query.has('dryRun') || refusals === 0) return false;
    refusals -= 1;
    exchange.status(refusals === 1 ? 403 : 500, 'Refused');
    return true;
  });
  // Who asked need not wait for it.
  const replacing = await replacements.replace(decidedOn('1'), EDIT);
  expect(replacements.isUnderWay('old')).toBe(true);
  for (let left = 3; left > 0; left -= 1) {
    await eventually(() => stuck.length).toBe(4 - left);
    await clock.run(10_000);
  }
  await replacing.finished;
  expect(replacements.isUnderWay('old')).toBe(false);
  expect(now.job?.metadata.uid).toBe('new');
  expect(open()).toBe(0);
});

test('one that has moved on since the decision is left as it is', async () => {
  const { replacements, now, open } = await world();
  now.job = job('old', '2');
  await expect(replacements.replace(decidedOn('1'), EDIT)).rejects.toMatchObject({ status: 409 });
  expect(now.job?.metadata.uid).toBe('old');

  // And so is one that moves on at the last moment.
  const late = await world((exchange) => {
    if (exchange.verb === 'delete') late.now.job = job('old', '2');
    return false;
  });
  await expect(late.replacements.replace(decidedOn('1'), EDIT)).rejects.toMatchObject({ status: 409 });
  expect(late.now.job?.metadata.uid).toBe('old');
  expect([open(), late.open()]).toEqual([0, 0]);
});

test('a deletion that is refused leaves no trace', async () => {
  const { replacements, now, open } = await world((exchange) => {
    if (exchange.verb === 'delete') exchange.status(403, 'Forbidden');
    return exchange.verb === 'delete';
  });
  await expect(replacements.replace(decidedOn('1'), EDIT)).rejects.toMatchObject({ status: 403 });
  expect(now.job?.metadata.uid).toBe('old');
  expect(open()).toBe(0);
});

const isJournal = ({ path }: Exchange) => path.includes('/secrets');
const DELETING = { deletionTimestamp: '2030-01-31T12:00:00Z', finalizers: ['foregroundDeletion'] };

test.each([
  ['deleted it', undefined],
  ['created another of that name', job('another')],
  ['is deleting it', job('old', '2', DELETING)],
])('a Job stays as its owner wants it who %s while we write the journal', async (_, left) => {
  const { replacements, now, open, api } = await world((exchange) => {
    if (isJournal(exchange)) now.job = left;
    return false;
  });
  const { finished, late } = await replacements.replace(decidedOn('1'), EDIT);
  expect([await finished, late, now.job]).toEqual([undefined, undefined, left]);
  expect(open()).toBe(0);
  expect(api.requests.filter(({ verb, query }) => verb === 'create' && !query.has('dryRun'))).toEqual([]);
});

test('a Job that somebody is deleting already is left to them', async () => {
  const { replacements, now, api } = await world();
  now.job = job('old', '1', DELETING);
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  expect(await finished).toBeUndefined();
  expect(api.requests.map(({ verb }) => verb)).toEqual(['get']);
});

test.each([
  ['no answer', (exchange: Exchange) => exchange.cut(), 'new'],
  ['a gateway that gave up', (exchange: Exchange) => exchange.status(504, 'Timeout'), 'new'],
  ['a server with too much to do', (exchange: Exchange) => exchange.status(429, 'TooManyRequests'), undefined],
])('whose DELETE it was: %s', async (_, answer, uid) => {
  const { clock, replacements, now, open, stuck } = await world((exchange) => {
    if (exchange.verb !== 'delete' || !now.job) return false;
    now.job = undefined;
    answer(exchange);
    return true;
  });
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  await eventually(() => stuck.length).toBe(1);
  await clock.run(10_000);
  expect((await finished)?.metadata.uid).toBe(uid);
  expect([now.job?.metadata.uid, open()]).toEqual([uid, 0]);
});

test('an entry that was written without an answer does not outlive a Job that its owner deletes', async () => {
  const { clock, replacements, now, open, stuck } = await world((exchange) => {
    if (!isJournal(exchange) || !now.job) return false;
    Object.assign(now.journal, JSON.parse(exchange.body).data);
    now.job = undefined;
    exchange.cut();
    return true;
  });
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  await eventually(() => stuck.length).toBe(1);
  await clock.run(10_000);
  expect(await finished).toBeUndefined();
  expect([now.job, open()]).toEqual([undefined, 0]);
});

test.each([
  ['every DELETE is put off', (exchange: Exchange) => exchange.verb === 'delete'],
  ['the journal does not answer', (exchange: Exchange) => exchange.verb === 'patch'],
])('who is told to go while %s leaves no entry for the next process', async (_, isRefused) => {
  let isOver = false;
  const { clock, replacements, now, open, stuck, stop } = await world((exchange) => {
    if (isOver || !isRefused(exchange)) return false;
    if (isJournal(exchange)) Object.assign(now.journal, JSON.parse(exchange.body).data);
    exchange.status(429, 'TooManyRequests');
    return true;
  });
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  const ended = expect(finished).rejects.toThrow();
  await eventually(() => stuck.length).toBe(1);
  expect(open()).toBe(1);
  stop.abort();
  isOver = true;
  await clock.run(4000);
  await ended;
  expect([now.job?.metadata.uid, open()]).toEqual(['old', 0]);
});

test('who is told to go after a DELETE without an answer leaves the entry to the next process', async () => {
  const { clock, replacements, open, stuck, stop } = await world((exchange) => {
    if (exchange.verb === 'delete') exchange.cut();
    return exchange.verb === 'delete';
  });
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  const ended = expect(finished).rejects.toThrow();
  await eventually(() => stuck.length).toBe(1);
  stop.abort();
  await clock.run(10_000);
  await ended;
  expect(open()).toBe(1);
});

test('a journal that conflicts is written again, so that no entry outlives its Job', async () => {
  const conflicts: Exchange[] = [];
  const { clock, replacements, now, open, stuck } = await world((exchange) => {
    if (
      exchange.verb !== 'patch' ||
      conflicts.length > 1 ||
      (now.job?.metadata.uid === 'old') !== (conflicts.length === 0)
    )
      return false;
    conflicts.push(exchange);
    exchange.status(409, 'Conflict');
    return true;
  });
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  for (const times of [1, 2]) {
    await eventually(() => stuck.length).toBe(times);
    await clock.run(5000);
  }
  expect([(await finished)?.metadata.uid, open()]).toEqual(['new', 0]);
});

test('what is told of a late Job is what holds it up: a finalizer only once the Job is deleted', async () => {
  const { clock, replacements, api } = await world((exchange) => {
    if (exchange.verb === 'patch') exchange.status(503, 'Unavailable');
    return exchange.verb === 'patch';
  });
  const { late, finished } = await replacements.replace(decidedOn('1'), EDIT);
  finished.catch(() => {});
  let told: KubeError | undefined;
  void late?.then((error) => {
    told = error;
  });
  await eventually(() => {
    clock.advance(1000);
    return told?.status;
  }).toBe(503);
  expect(api.requests.filter(({ verb }) => verb === 'delete')).toEqual([]);
});

test('the time of a finalizer begins when the Job is deleted', async () => {
  let isOut = true;
  const { clock, replacements, now } = await world((exchange) => {
    const isRefused = (exchange.verb === 'patch' && isOut) || exchange.verb === 'delete';
    if (isRefused && exchange.verb === 'delete') {
      now.job = job('old', '2', DELETING);
      exchange.json(200, {});
    } else if (isRefused) exchange.status(503, 'Unavailable');
    return isRefused;
  });
  const { late, finished } = await replacements.replace(decidedOn('1'), EDIT);
  finished.catch(() => {});
  let told: KubeError | undefined;
  void late?.then((error) => {
    told = error;
  });
  clock.advance(50_000);
  isOut = false;
  await eventually(() => {
    clock.advance(100);
    return now.job?.metadata.deletionTimestamp;
  }).toBeDefined();
  const deletedAt = clock.now();
  await eventually(() => {
    clock.advance(1000);
    return told?.status;
  }).toBe(408);
  expect(clock.now() - deletedAt).toBeGreaterThanOrEqual(60_000);
});

const large = (namespace: string, uid: string, kib: number) => ({
  ...{ ref: { ...REF, namespace, name: uid }, uid },
  manifest: { large: 'x'.repeat(kib * 1024) },
});

test('the Jobs of one namespace leave room in the journal for those of others', async () => {
  const { journal, withoutRoom, open } = await world();
  const begun = ['a', 'b', 'c'].map((uid) => journal.begin(large('greedy', uid, 120)));
  expect(await Promise.all(begun)).toEqual([true, true, false]);
  expect(await journal.begin(large('greedy', 'd', 600))).toBe(false);
  expect(await journal.begin(large('other', 'e', 2))).toBe(true);
  expect([withoutRoom, open()]).toEqual([['greedy/c', 'greedy/d'], 3]);
  await journal.close(large('greedy', 'a', 120));
  expect(await journal.begin(large('greedy', 'c', 120))).toBe(true);
});

test('what an earlier process left in the journal takes room as well', async () => {
  const { journal, now } = await world();
  await journal.begin(large('greedy', 'a', 200));
  const later = await world();
  Object.assign(later.now.journal, now.journal);
  expect(await later.journal.open()).toHaveLength(1);
  expect(await later.journal.begin(large('greedy', 'b', 100))).toBe(false);
  expect(await later.journal.begin(large('other', 'c', 100))).toBe(true);
});

test('a Job that the journal has no room for is replaced, also where only the API server knows', async () => {
  const { replacements, now, withoutRoom } = await world((exchange) => {
    const isBegin = exchange.verb === 'patch' && !exchange.body.includes('null');
    if (isBegin) exchange.status(422, 'Invalid');
    return isBegin;
  });
  const { finished } = await replacements.replace(decidedOn('1'), EDIT);
  expect([(await finished)?.metadata.uid, now.job?.metadata.uid]).toEqual(['new', 'new']);
  expect(withoutRoom).toEqual(['shop/once']);
});

test('what an earlier process began is finished; what nobody can finish holds nobody up', async () => {
  const { replacements, journal, now, open, resumed, stop } = await world((exchange) => {
    if (!exchange.path.includes('/gone/')) return false;
    exchange.status(404, 'NotFound');
    return true;
  });
  now.job = undefined;
  await journal.begin({ ref: REF, uid: 'old', resourceVersion: '1', manifest: {} });
  await journal.begin({ ref: { ...REF, namespace: 'gone' }, uid: 'other', manifest: {} });
  await replacements.resume(stop.signal);
  await eventually(() => now.job?.metadata.uid).toBe('new');
  await eventually(open).toBe(0);
  await eventually(() => resumed).toEqual(['once', 'once']);
});

test('a Job that stays in its finalizers makes nobody wait, is told, looked at ever more rarely, and replaced at last', async () => {
  const { clock, replacements, now, api } = await world((exchange) => {
    if (exchange.verb === 'delete') exchange.json(200, {});
    return exchange.verb === 'delete';
  });
  const replacing = await replacements.replace(decidedOn('1'), EDIT);
  let isLate = false;
  void replacing.late?.then(() => {
    isLate = true;
  });
  const looks = () => api.requests.filter(({ verb }) => verb === 'get').length;
  for (let second = 0; second < 59; second += 1) {
    const before = looks();
    clock.advance(1000);
    await eventually(() => clock.timers).toBe(2);
    expect(looks() - before).toBeLessThanOrEqual(10);
  }
  expect(isLate).toBe(false);
  expect(looks()).toBeLessThan(60);
  clock.advance(1000);
  expect(await replacing.late).toMatchObject({ status: 408 });
  now.job = undefined;
  await eventually(() => {
    clock.advance(5000);
    return now.job?.metadata.uid;
  }).toBe('new');
  await replacing.finished;
  await replacements.ended();
});

test('who is told to go between the deletion and the creation creates it first', async () => {
  let refusals = 1;
  const { clock, replacements, now, stop, stuck } = await world((exchange) => {
    if (exchange.verb !== 'create' || exchange.query.has('dryRun') || refusals === 0) return false;
    refusals -= 1;
    exchange.status(500, 'InternalError');
    return true;
  });
  await replacements.replace(decidedOn('1'), EDIT);
  await eventually(() => stuck.length).toBe(1);
  const ended = replacements.ended();
  stop.abort();
  await clock.run(2000);
  await ended;
  expect(now.job?.metadata.uid).toBe('new');
});

/** A Job that was deleted, and whose successor is refused until `allow`; the term that began it ends meanwhile. */
async function termEnds(keepsJournal: boolean) {
  let isAllowed = false;
  const here = await world((exchange) => {
    const isRefused = exchange.verb === 'create' && !exchange.query.has('dryRun') && !isAllowed;
    if (isRefused) exchange.status(500, 'InternalError');
    return isRefused;
  }, keepsJournal);
  const term = new AbortController();
  await here.replacements.resume(term.signal);
  const { finished } = await here.replacements.replace(decidedOn('1'), EDIT);
  finished.catch(() => {});
  await eventually(() => here.stuck.length).toBe(1);
  term.abort();
  await here.clock.run(5000);
  return {
    ...here,
    allow: () => {
      isAllowed = true;
    },
  };
}

test('who leads no more leaves a replacement to the next term, which may be its own', async () => {
  const { replacements, clock, now, open, allow } = await termEnds(true);
  await replacements.ended();
  allow();
  await clock.run(120_000);
  expect([now.job, open()]).toEqual([undefined, 1]);
  await replacements.resume(new AbortController().signal);
  await eventually(() => now.job?.metadata.uid).toBe('new');
  await eventually(open).toBe(0);
});

test('what no journal keeps is finished all the same, because nobody else could', async () => {
  const { replacements, clock, now, allow } = await termEnds(false);
  expect(replacements.isUnderWay('old')).toBe(true);
  allow();
  await eventually(() => {
    clock.advance(5000);
    return now.job?.metadata.uid;
  }).toBe('new');
});
