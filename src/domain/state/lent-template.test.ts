import { expect, test } from 'vitest';
import { APP, type Look, rulesOf, source, web } from '../../../test/support/engine-world.ts';
import { change } from '../../../test/support/telling-world.ts';
import { SourceHistory } from '../../model/sources/source-history.ts';
import type { Change } from '../outcome/change.ts';
import { shortDigest } from './recent-templates.ts';
import type { SeenBy } from './transitions.ts';
import { WorkloadState } from './workload-state.ts';

const LIFECYCLE = { compat: false, reloadOnCreate: false, reloadOnDelete: false };

/** A Deployment whose pods run with A, and whose template a Rollout has borrowed or not. */
function deployment(lends = true) {
  let version = 10;
  let look: Look & { revision: number } = { image: 'v0', rolledOut: true, revision: 1 };
  const sources = new SourceHistory();
  sources.put(source('A', 5), false);
  const found = web(version, look);
  const state = new WorkloadState(found, { ...rulesOf(sources), lendsTemplate: () => lends });
  const compare = (): void =>
    state.compare(APP, { strategy: 'env-vars', lifecycle: LIFECYCLE, begunWith: () => 'A' }, version);
  const seen = (by: SeenBy, next: Look): void => {
    version += 1;
    look = { ...look, ...next };
    state.seen(web(version, look), { by, completeUpTo: version - 1, news: () => undefined, isFollowing: true });
    compare();
  };
  const edit = (next: Look, by: SeenBy = 'watch'): void =>
    seen(by, { rolledOut: false, ...next, revision: look.revision + 1 });
  compare();
  return {
    found,
    state,
    edit,
    waits: () => state.waiting.size > 0,
    complete: () => seen('watch', { rolledOut: true }),
    data(value: string): void {
      version += 1;
      sources.put(source(value, version), false);
      compare();
    },
    write(): void {
      const { exact: current = '', mark = '' } = sources.get(APP)?.fingerprint ?? {};
      const changes: Change[] = [{ ...change('app'), current, since: sources.since(APP), mark }];
      state.writeBegan();
      const written = { env: [], annotations: {}, jsonPatch: false };
      state.writeAccepted(changes, { changes, edit: written, second: version }, state.seq + 1);
      edit({ mark: current }, 'write');
      state.settled(changes, state.seq);
    },
  };
}

test.each([false, true])('of 20 releases of data and template none rolls twice; lent: %s', (lends) => {
  const shop = deployment(lends);
  const needless: number[] = [];
  for (let release = 1; release <= 20; release += 1) {
    shop.data(`D${release}`);
    shop.edit({ image: `v${release}` });
    if (shop.waits()) needless.push(release);
    shop.complete();
  }
  expect(needless).toEqual([]);
});

// Its own pods are all new then, and of those that the borrower has nobody says so.
test.each([
  ['its own pods are all of the present template', false, false],
  ['the borrower may have pods of the one before', true, true],
])('back to the template before, after the rollout: %s', (_, lends, isOpen) => {
  const shop = deployment(lends);
  shop.edit({ image: 'v1' });
  shop.complete();
  shop.data('B');
  shop.edit({ image: 'v0' });
  expect(shop.waits()).toBe(isOpen);
});

test.each([
  ['none of its pods is of an earlier template', false, false],
  ['the borrower may have pods of one that was written down', true, true],
])('back to the template before, after a restart that found the rollout complete: %s', (_, lends, isOpen) => {
  const shop = deployment(lends);
  const looks = [[shortDigest(digestOf('v-1')), 0] as const, [shortDigest(shop.found.fullTemplateDigest), 7] as const];
  shop.state.recall({
    ...{ seq: 1, reloads: {}, missedAfter: undefined, template: undefined },
    templates: { kept: looks, applied: new Map([['ConfigMap/app', 'A']]) },
  });
  shop.data('B');
  shop.edit({ image: 'v-1' });
  expect(shop.waits()).toBe(isOpen);
});

test('behind a gap the borrower may have pods of templates that nobody saw, until we write one that never was', () => {
  const shop = deployment();
  shop.edit({ image: 'v1', rolledOut: true }, 'list');
  const waited = ['v2', 'v3'].map((image) => {
    shop.data(`with ${image}`);
    shop.edit({ image });
    const isWaiting = shop.waits();
    if (isWaiting) shop.write();
    shop.complete();
    return isWaiting;
  });
  expect(waited).toEqual([true, false]);
});

const digestOf = (image: string): string => web(1, { image }).fullTemplateDigest;
