import { expect, test } from 'vitest';
import { OutageDetector } from './outages.ts';

function world() {
  const time = { now: 0 };
  const outages = new OutageDetector(() => time.now);
  const over: number[] = [];
  outages.onOver((lastedMs) => over.push(lastedMs));
  return { time, outages, over };
}

test.each([0, 401, 429, 502, 503, 504])(
  '%i everywhere for a while, and then an answer: the server is back',
  (status) => {
    const { time, outages, over } = world();
    outages.ended('deployments', 200);
    time.now = 1000;
    outages.ended('deployments', status);
    outages.ended('configmaps', status);
    time.now = 21_000;
    outages.ended('deployments', status);
    expect(over).toEqual([]);
    outages.ended('secrets', 403);
    expect(over).toEqual([20_000]);
    outages.ended('secrets', 200);
    expect(over).toEqual([20_000]);
  },
);

test.each([
  ['one resource has troubles of its own', ['deployments', 'deployments'], 503, 20_000],
  ['it was short', ['deployments', 'configmaps'], 503, 1000],
  ['the server answered, though it failed', ['deployments', 'configmaps'], 500, 20_000],
])('no outage: %s', (_, resources, status, lastsMs) => {
  const { time, outages, over } = world();
  for (const resource of resources) outages.ended(resource, status);
  time.now = lastsMs;
  outages.ended('secrets', 200);
  expect(over).toEqual([]);
});

test('an answer in between makes two short ones of it', () => {
  const { time, outages, over } = world();
  for (let n = 0; n < 10; n += 1) {
    time.now = n * 2000;
    outages.ended('deployments', 503);
    outages.ended('configmaps', 503);
    time.now += 1000;
    outages.ended('leases', 200);
  }
  expect(over).toEqual([]);
});
