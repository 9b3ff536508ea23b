import { expect, test } from 'vitest';
import { APP, web } from '../../../test/support/engine-world.ts';
import { change, rolled, tellingWorld } from '../../../test/support/telling-world.ts';
import { OUTCOME, RECORD, SOURCES } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import { Report } from '../../controller/report/report.ts';
import { encodeRecord } from '../../domain/ledger/record.ts';
import type { EventPost } from '../../kube/events/event-post.ts';
import { isUndelivered, lastWriteOf, type ReloaderEvent } from './reloader-events.ts';

const eventsOf = (events: readonly EventPost[]): readonly ReloaderEvent[] =>
  events.map(({ annotations, ...event }, n) => ({
    ...{ ...event, at: '', version: n, outcome: annotations?.[OUTCOME], sources: annotations?.[SOURCES] },
  }));
const beyond = { ...APP, name: 'app-39' };

test('explain understands Events of several sources, also of those that the message does not name', () => {
  const { deps, events } = tellingWorld();
  const report = new Report(deps);
  const many = Array.from({ length: 40 }, (_, n) => change(`app-${n}`));
  const undelivered = (ref: SourceRef) => isUndelivered(eventsOf(events), ref);
  report.tell({ is: 'undelivered', workload: web(3), sources: [APP] });
  expect([undelivered(APP), undelivered(beyond)]).toEqual([true, false]);
  report.tell({ is: 'undelivered', workload: web(3), sources: many.map(({ ref }) => ref) });
  expect([undelivered(APP), undelivered(beyond)]).toEqual([true, true]);
  // Neither is hidden, nor ended, by a reload of others.
  report.tell(rolled(Array.from({ length: 40 }, (_, n) => change(`other-${n}`))));
  expect([undelivered(APP), undelivered(beyond)]).toEqual([true, true]);
  report.tell(rolled([change('db', 'Secret'), change('app')]));
  expect([undelivered(APP), undelivered(beyond)]).toEqual([false, true]);
  report.tell(rolled(many));
  expect([undelivered(APP), undelivered(beyond)]).toEqual([false, false]);
});

test('a list that has no room on an Event says so, and what may be undelivered is called so', () => {
  const { deps, events } = tellingWorld();
  const report = new Report(deps);
  const many = Array.from({ length: 5000 }, (_, n) => change(`app-${n}`).ref);
  const last = { ...APP, name: 'app-4999' };
  report.tell({ is: 'undelivered', workload: web(3), sources: many });
  expect(events[0]?.annotations?.[SOURCES]?.length).toBeLessThan(32_768);
  expect(isUndelivered(eventsOf(events), last)).toBe(true);
  report.tell(rolled(many.map(({ name }) => change(name))));
  expect([isUndelivered(eventsOf(events), last), isUndelivered(eventsOf(events), beyond)]).toEqual([true, false]);
});

test('what happened is read from annotations, whatever the message says', () => {
  const { deps, events } = tellingWorld();
  new Report(deps).tell({ is: 'undelivered', workload: web(3), sources: [APP] });
  const [event] = eventsOf(events);
  if (!event) throw new Error('no Event');
  const { outcome: _outcome, sources: _sources, ...ofOtherReloader } = event;
  expect(isUndelivered([ofOtherReloader], APP)).toBe(false);
  expect(isUndelivered([{ ...event, reason: 'Other', message: 'in other words' }, ofOtherReloader], APP)).toBe(true);
});

test('the last write is known by its record where somebody else has written the whole object since', () => {
  const record = encodeRecord({ uid: 'u', seq: 1, key: 'k', template: 't', sources: {}, at: 1_700_000_000 });
  const metadata = { name: 'web', uid: 'u', resourceVersion: '7', annotations: { [RECORD]: record } };
  expect(lastWriteOf({ metadata })).toBe('2023-11-14T22:13:20Z');
  expect(lastWriteOf({ metadata: { ...metadata, uid: 'another' } })).toBeUndefined();
  const managedFields = [{ manager: 'Reloader', time: '2024-01-01T00:00:00Z' }];
  expect(lastWriteOf({ metadata: { ...metadata, managedFields } })).toBe('2024-01-01T00:00:00Z');
});
