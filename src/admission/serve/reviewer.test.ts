import { describe, expect, test } from 'vitest';
import { reviewOf, UNCHANGED } from '../../../test/support/admission-server.ts';
import { collectGarbage } from '../../../test/support/collect-garbage.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import type { Answer } from '../../domain/admission/request.ts';
import { createLog } from '../../telemetry/log.ts';
import { ADMISSION_METRICS } from '../../telemetry/metric-tables/admission.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { createReviewer, type ReviewerDeps } from './reviewer.ts';

const PIN = 'pin-4711';
const WRITE = {
  kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
  operation: 'UPDATE',
  namespace: 'shop',
  object: { metadata: { name: 'web', annotations: { note: PIN } }, spec: { env: [{ name: 'PIN', value: PIN }] } },
  userInfo: { username: 'jane' },
};

function world(
  admit: ReviewerDeps['admit'],
  readHash: ReviewerDeps['readHash'] = async () => ({ error: 'none' }),
  { signal } = new AbortController(),
) {
  const lines: string[] = [];
  const metrics = createMetrics(ADMISSION_METRICS);
  const log = createLog({ format: '', level: 'info', write: (line) => void lines.push(line), now: () => 0 });
  const review = createReviewer({ admit, readHash, clock: virtualClock(), log, metrics });
  const ask = async (request: object | Buffer = WRITE) => {
    const body = Buffer.isBuffer(request) ? request : Buffer.from(JSON.stringify(reviewOf(request)));
    const { reply, outcome, write } = await review(body, '10.0.0.1', signal);
    return { ...reply, outcome, write };
  };
  return {
    lines,
    ask,
    counted: () =>
      metrics
        .render()
        .split('\n')
        .filter((line) => /_total\{.* [1-9]\d*$/.test(line))
        .map((line) => line.replace('attune_admission_', '')),
  };
}

const responseIn = (body: string) => (JSON.parse(body) as { response: unknown }).response;

describe('an answer', () => {
  test('that changes nothing, and one that does', async () => {
    let answer: Answer = UNCHANGED;
    const { ask, lines, counted } = world(() => answer);
    expect(await ask()).toMatchObject({ status: 200, type: 'application/json', outcome: 'unchanged' });
    answer = {
      ...UNCHANGED,
      operations: [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }],
      restored: { variables: 2, annotations: 1, record: 0 },
    };
    expect(responseIn((await ask()).body)).toMatchObject({ uid: 'u-1', allowed: true, patchType: 'JSONPatch' });
    expect(await ask({ ...WRITE, dryRun: true })).toMatchObject({ outcome: 'changed', write: { dryRun: true } });
    expect(counted()).toEqual(['restored_marks_total{mark="variable"} 2', 'restored_marks_total{mark="annotation"} 1']);
    // One line for each write in a cluster would be a flood.
    expect(lines).toEqual([]);
  });

  test('that denies is told in the log', async () => {
    const { ask, lines } = world(() => ({ allowed: false, code: 400, message: 'the hash differs' }));
    const { status, body, outcome } = await ask();
    expect([outcome, status, responseIn(body)]).toEqual([
      'denied',
      200,
      { uid: 'u-1', allowed: false, status: { code: 400, message: 'the hash differs' } },
    ]);
    expect(lines).toEqual([
      'time="1970-01-01T00:00:00Z" level=info msg="admission denied" code=400 dryRun=false kind=Deployment name=web ' +
        'namespace=shop operation=UPDATE reason="the hash differs" user=jane\n',
    ]);
  });

  test('names the write, and nothing that it holds', async () => {
    const { write } = await world(() => UNCHANGED).ask();
    expect(write).toEqual({
      kind: 'Deployment',
      operation: 'UPDATE',
      namespace: 'shop',
      name: 'web',
      user: 'jane',
      dryRun: false,
    });
  });

  test('that depends on sources is given when they are read, to the same request', async () => {
    const question = { lists: { a: 'b' }, namespace: 'shop' };
    const seen: unknown[] = [];
    const { ask } = world(
      (request, hash) => {
        seen.push([request.uid, hash]);
        return hash === undefined ? question : UNCHANGED;
      },
      async (...asked) => {
        seen.push(asked.slice(0, 2));
        return { error: 'no answer' };
      },
    );
    expect(await ask()).toMatchObject({ outcome: 'unchanged' });
    expect(seen).toEqual([
      ['u-1', undefined],
      [question, '10.0.0.1'],
      ['u-1', { error: 'no answer' }],
    ]);
  });

  test('nothing that was parsed is held while sources are read', async () => {
    const question = { lists: {}, namespace: '' };
    const parsed: WeakRef<object>[] = [];
    const held: number[] = [];
    const { ask } = world(
      ({ object }, hash) => {
        parsed.push(new WeakRef(object ?? {}));
        return hash === undefined ? question : UNCHANGED;
      },
      async () => {
        // A WeakRef holds its object until the end of the turn in which it was made.
        await new Promise((resolve) => setImmediate(resolve));
        collectGarbage();
        held.push(parsed.filter((each) => each.deref() !== undefined).length);
        return { error: 'none' };
      },
    );
    await Promise.all(Array.from({ length: 16 }, () => ask()));
    expect(held).toEqual(Array.from({ length: 16 }, () => 0));
  });

  test('nothing that was sent makes a line long', async () => {
    const long = 'x'.repeat(100_000);
    const { ask, lines } = world(() => ({ allowed: false, code: 400, message: long }));
    await ask({ ...WRITE, namespace: long, userInfo: { username: long } });
    expect(lines.join('').length).toBeLessThan(2000);
  });
});

describe('no answer', () => {
  test('where admit throws: an error status, so that the failure policy decides; the log says where, and quotes nothing', async () => {
    const { ask, lines } = world(() => {
      throw new TypeError(`cannot read ${PIN}`);
    });
    const { status, body, outcome } = await ask();
    const message = 'attune failed on this request; its log says where';
    const denied = { uid: 'u-1', allowed: false, status: { code: 500, message } };
    expect([outcome, status, responseIn(body)]).toEqual(['failed', 500, denied]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /level=error msg="no answer to an admission request" .*error="TypeError at .*reviewer\.test\.ts/,
    );
    expect(lines[0]).not.toContain(PIN);
  });

  test('where the answer cannot be written', async () => {
    let deep: unknown = PIN;
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep];
    const { ask, lines } = world(() => ({ ...UNCHANGED, operations: [{ op: 'add', path: '/a', value: deep }] }));
    expect(await ask()).toMatchObject({ status: 500 });
    expect(lines.join('')).not.toContain(PIN);
  });

  test('where its time is over before the sources are read, and it must know them: the failure policy decides', async () => {
    const time = new AbortController();
    const { ask, lines } = world(
      (_, hash) => (hash ? { allowed: false, code: 400, message: 'no time is left' } : { lists: {}, namespace: '' }),
      async () => {
        time.abort();
        return { error: 'no time is left' };
      },
      time,
    );
    expect(await ask()).toEqual({
      status: 503,
      type: 'text/plain',
      body: 'no time left: too many reviews at once, or the API server is slow',
      outcome: 'refused',
    });
    expect(lines).toEqual([]);
  });

  test('to what is no review', async () => {
    const { ask, lines } = world(() => UNCHANGED);
    expect(await ask(Buffer.from(`{"pin":"${PIN}`))).toEqual({
      status: 400,
      type: 'text/plain',
      body: 'the body is not a JSON object',
      outcome: 'invalid',
    });
    expect(lines).toEqual([]);
  });
});
