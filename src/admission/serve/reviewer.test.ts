import { describe, expect, test } from 'vitest';
import { reviewOf, UNCHANGED } from '../../../test/support/admission-server.ts';
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

function world(admit: ReviewerDeps['admit'], level = 'info') {
  const lines: string[] = [];
  const metrics = createMetrics(ADMISSION_METRICS);
  const clock = virtualClock();
  const log = createLog({ format: '', level, write: (line) => void lines.push(line), now: () => 0 });
  const review = createReviewer({ admit, clock, log, metrics }, 2500);
  return {
    lines,
    clock,
    ask: (request: object = WRITE, begun = 0) => review(Buffer.from(JSON.stringify(reviewOf(request))), begun),
    review,
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
    const { ask, lines, counted } = world(async () => answer);
    expect(await ask()).toMatchObject({ status: 200, type: 'application/json' });
    answer = {
      ...UNCHANGED,
      operations: [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }],
      restored: { variables: 2, annotations: 1, record: 0 },
    };
    expect(responseIn((await ask()).body)).toMatchObject({ uid: 'u-1', allowed: true, patchType: 'JSONPatch' });
    expect(await ask({ ...WRITE, dryRun: true })).toMatchObject({ status: 200 });
    expect(counted()).toEqual([
      'requests_total{outcome="unchanged",dry_run="false"} 1',
      'requests_total{outcome="changed",dry_run="false"} 1',
      'requests_total{outcome="changed",dry_run="true"} 1',
      'restored_marks_total{mark="variable"} 2',
      'restored_marks_total{mark="annotation"} 1',
    ]);
    // One line for each write in a cluster would be a flood.
    expect(lines).toEqual([]);
  });

  test('that denies is told in the log', async () => {
    const { ask, lines, counted } = world(async () => ({ allowed: false, code: 400, message: 'the hash differs' }));
    const { status, body } = await ask();
    expect([status, responseIn(body)]).toEqual([
      200,
      { uid: 'u-1', allowed: false, status: { code: 400, message: 'the hash differs' } },
    ]);
    expect(lines).toEqual([
      'time="1970-01-01T00:00:00Z" level=info msg="admission denied" code=400 dryRun=false kind=Deployment name=web ' +
        'namespace=shop operation=UPDATE reason="the hash differs" user=jane\n',
    ]);
    expect(counted()).toEqual(['requests_total{outcome="denied",dry_run="false"} 1']);
  });

  test('each is a line of its own when debugging', async () => {
    const { ask, lines } = world(async () => UNCHANGED, 'debug');
    await ask();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /level=debug msg="admission request" .* name=web .* outcome=unchanged status=200 user=jane/,
    );
    expect(lines[0]).not.toContain(PIN);
  });

  test('nothing that was sent makes a line long', async () => {
    const long = 'x'.repeat(100_000);
    const { ask, lines } = world(async () => ({ allowed: false, code: 400, message: long }));
    await ask({ ...WRITE, namespace: long, userInfo: { username: long } });
    expect(lines.join('').length).toBeLessThan(2000);
  });
});

describe('no answer', () => {
  const deny = (code: number, message: string) => ({ uid: 'u-1', allowed: false, status: { code, message } });

  test.each([
    ['rejects', async (): Promise<Answer> => Promise.reject(new TypeError(`cannot read ${PIN}`))],
    [
      'throws',
      () => {
        throw new TypeError(`cannot read ${PIN}`);
      },
    ],
  ])(
    'where admit %s: an error status, so that the failure policy decides; the log says where, and quotes nothing',
    async (_, admit) => {
      const { ask, lines, counted } = world(admit);
      const { status, body } = await ask();
      expect([status, responseIn(body)]).toEqual([500, deny(500, 'attune failed on this request; its log says where')]);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /level=error msg="no answer to an admission request" .*error="TypeError at .*reviewer\.test\.ts/,
      );
      expect(lines[0]).not.toContain(PIN);
      expect(counted()).toEqual(['requests_total{outcome="failed",dry_run="false"} 1']);
    },
  );

  test('where the answer cannot be written', async () => {
    let deep: unknown = PIN;
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep];
    const { ask, lines } = world(async () => ({ ...UNCHANGED, operations: [{ op: 'add', path: '/a', value: deep }] }));
    expect(await ask()).toMatchObject({ status: 500 });
    expect(lines.join('')).not.toContain(PIN);
  });

  test('where admit takes too long, counted from the head of the request', async () => {
    const { ask, clock, lines, counted } = world(() => new Promise(() => {}));
    await clock.run(400);
    const asked = ask(WRITE, 0);
    await clock.run(2099);
    expect(lines).toEqual([]);
    await clock.run(1);
    const { status, body } = await asked;
    expect([status, responseIn(body)]).toEqual([504, deny(504, 'attune had no answer within 2500 ms')]);
    expect(lines).toHaveLength(1);
    expect(counted()).toEqual(['requests_total{outcome="failed",dry_run="false"} 1']);
    expect(clock.timers).toBe(0);
  });

  test('to what is no review', async () => {
    const { review, lines, counted } = world(async () => UNCHANGED);
    expect(await review(Buffer.from(`{"pin":"${PIN}`), 0)).toEqual({
      status: 400,
      type: 'text/plain',
      body: 'the body is not a JSON object',
    });
    expect(await review({ status: 413, message: 'too much' }, 0)).toEqual({
      status: 413,
      type: 'text/plain',
      body: 'too much',
    });
    expect(lines).toEqual([]);
    expect(counted()).toEqual(['requests_total{outcome="invalid",dry_run="false"} 2']);
  });
});
