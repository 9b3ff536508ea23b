import { expect, test } from 'vitest';
import { APP, web } from '../../../../test/support/engine-world.ts';
import { change, failed, rolled } from '../../../../test/support/telling-world.ts';
import { OUTCOME, SOURCES } from '../../../api/annotations.ts';
import type { Outcome } from '../../../domain/outcome/outcome.ts';
import { type EventPost, repetitionKey } from '../../../kube/events/event-post.ts';
import { rendererOf } from '../outcome-feed.ts';
import { eventRendering } from './event-rendering.ts';

const changes = [change('app')];
const FAILED = failed(changes, '403 Forbidden');
const { retry: _, ...about } = FAILED;
const REFUSED: Outcome = { ...about, is: 'refused', heldUntil: 'changed or some minutes' };
const UNDELIVERED: Outcome = { is: 'undelivered', workload: web(3), sources: [APP] };

function eventsOf(...outcomes: readonly Outcome[]): readonly EventPost[] {
  const events: EventPost[] = [];
  const render = rendererOf(eventRendering((event) => void events.push(event)));
  for (const outcome of outcomes) render(outcome);
  return events;
}

test('an Event says for programs what happened, and for which sources', () => {
  expect(eventsOf(rolled(changes), REFUSED, UNDELIVERED).map(({ annotations }) => annotations)).toEqual([
    { [OUTCOME]: 'rolled', [SOURCES]: 'ConfigMap/app' },
    { [OUTCOME]: 'refused', [SOURCES]: 'ConfigMap/app' },
    { [OUTCOME]: 'undelivered', [SOURCES]: 'ConfigMap/app' },
  ]);
});

test('two outcomes are two Events, also with the same words; the same one again is a repetition', () => {
  const [one, again, other, more] = eventsOf(FAILED, FAILED, REFUSED, { ...FAILED, changes: [change('db')] });
  if (!one || !again || !other || !more) throw new Error('an Event is missing');
  expect(new Set([one, again, other, more].map(({ message }) => message)).size).toBe(1);
  expect(repetitionKey(again)).toBe(repetitionKey(one));
  expect(new Set([one, other, more].map(repetitionKey)).size).toBe(3);
});
