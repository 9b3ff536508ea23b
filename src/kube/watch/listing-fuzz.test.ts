import { expect, test } from 'vitest';
import { randomFrom } from '../../../test/support/http-answers.ts';
import { rounds } from '../../../test/support/soak.ts';
import { MAX_PAGE_BYTES, PageSize } from './page-size.ts';

// 1e5 in `npm run soak`; a failure names the seed.
const LISTINGS = rounds(2000, 100_000);
const MIB = 1024 * 1024;
// The largest object that etcd stores, when JSON makes six bytes of each of its bytes.
const LARGEST = 9 * MIB;

/** Sizes of objects as tenants may make them: mostly small, in runs, with large ones anywhere. */
function sizesOf(random: () => number): number[] {
  const below = (limit: number) => Math.floor(random() * limit);
  const one = [
    () => 300 + below(2000),
    () => 300 + below(100_000),
    () => MIB + below(MIB / 2),
    () => below(LARGEST),
    () => (below(200) === 0 ? MIB : 500),
  ];
  const sizes: number[] = [];
  for (let runs = 1 + below(4); runs > 0; runs -= 1) {
    const size = one[below(one.length)] as () => number;
    for (let count = below(random() < 0.1 ? 3000 : 150); count > 0; count -= 1) sizes.push(size());
  }
  return sizes;
}

/** Lists all objects as `listPages` does, from a server that sends what it is asked for. */
function list(sizes: readonly number[], full: boolean) {
  const size = new PageSize(undefined);
  const pages: { readonly items: number; readonly bytes: number }[] = [];
  let requests = 0;
  let received = 0;
  for (let from = 0; ; ) {
    requests += 1;
    const page = sizes.slice(from, from + size.limit);
    const bytes = page.reduce((sum, each) => sum + each, 200);
    if (size.limit > 1 && bytes > MAX_PAGE_BYTES) {
      received += MAX_PAGE_BYTES;
      if (!size.shrink()) throw new Error('a page that could be smaller was not asked for again');
      continue;
    }
    received += bytes;
    pages.push({ items: page.length, bytes });
    from += page.length;
    size.fitted(page.length, bytes, full);
    if (from >= sizes.length) return { pages, requests, received };
  }
}

test(`${LISTINGS} listings of objects of any size: few requests, no page that fills the memory`, {
  timeout: 3_600_000,
}, () => {
  for (let seed = 1; seed <= LISTINGS; seed += 1) {
    const random = randomFrom(seed);
    const sizes = sizesOf(random);
    const full = random() < 0.5;
    const { pages, requests, received } = list(sizes, full);
    const bytes = sizes.reduce((sum, each) => sum + each, 0);
    const tooLarge = pages.filter((page) => page.items > 1 && page.bytes > MAX_PAGE_BYTES);
    expect([seed, pages.reduce((sum, { items }) => sum + items, 0), tooLarge]).toEqual([seed, sizes.length, []]);
    expect([seed, requests], 'requests').toEqual([
      seed,
      Math.min(requests, 12 + sizes.length / 250 + 2 * (bytes / MIB + 1)),
    ]);
    expect([seed, received], 'bytes').toEqual([seed, Math.min(received, 64 * MIB + 2 * bytes)]);
  }
});
