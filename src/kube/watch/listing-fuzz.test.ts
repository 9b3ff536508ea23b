import { expect, test } from 'vitest';
import { randomFrom } from '../../../test/support/http-answers.ts';
import { rounds } from '../../../test/support/soak.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { KubeError } from '../kube-error.ts';
import type { Call, Transport } from '../wire/transport.ts';
import { listPages } from './listing.ts';
import { MAX_PAGE_BYTES } from './page-size.ts';

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

interface Listed {
  /** Of the objects since the listing last began anew, in their order. */
  readonly found: readonly number[];
  readonly tooLarge: readonly number[];
  readonly requests: number;
  readonly received: number;
}

interface Given {
  readonly sizes: readonly number[];
  readonly full: boolean;
  /** Before which requests behind a first page the server forgets where the listing is. */
  readonly forgets: ReadonlySet<number>;
}

/** Positions of an earlier version are forgotten for good. */
function positionIn(query: URLSearchParams) {
  const [of, from = 0] = query.get('continue')?.split('/').map(Number) ?? [];
  return { of, from };
}

/** A listing of these objects from a server that sends what it is asked for. */
async function list({ sizes, full, forgets }: Given): Promise<Listed> {
  let requests = 0;
  let received = 0;
  let version = 1;
  const tooLarge: number[] = [];
  const answer = async (call: Call): Promise<unknown> => {
    requests += 1;
    const query = new URLSearchParams(call.query);
    const { of, from } = positionIn(query);
    const { maxBytes = Number.POSITIVE_INFINITY } = call;
    const end = from + Number(query.get('limit'));
    const failure = (status: number, reason: string) =>
      new KubeError({ verb: 'list', path: call.path, status, reason });
    if (of !== undefined && forgets.has(requests)) version += 1;
    if (of !== undefined && of !== version) throw failure(410, 'Expired');
    const page = sizes.slice(from, end);
    const bytes = page.reduce((sum, each) => sum + each, 200);
    received += Math.min(bytes, maxBytes);
    if (bytes > maxBytes) throw failure(0, 'TooLarge');
    if (page.length > 1 && bytes > MAX_PAGE_BYTES) tooLarge.push(bytes);
    const next = end < sizes.length && { continue: `${version}/${end}` };
    const metadata = { resourceVersion: String(version), ...next };
    const items = page.map((_, at) => ({ metadata: { name: String(from + at), resourceVersion: '1' } }));
    return { value: { kind: full ? 'List' : 'PartialObjectMetadataList', metadata, items }, bytes, erase: () => {} };
  };
  let found: number[] = [];
  for await (const page of listPages<KubeObject>({ answer } as unknown as Transport, CONFIG_MAPS, {}, {})) {
    if (page.fresh) found = [];
    found.push(...page.items.map(({ metadata }) => Number(metadata.name)));
  }
  return { found, tooLarge, requests, received };
}

test(`${LISTINGS} listings of objects of any size: all of them, few requests, no page that fills the memory`, {
  timeout: 3_600_000,
}, async () => {
  for (let seed = 1; seed <= LISTINGS; seed += 1) {
    const random = randomFrom(seed);
    const sizes = sizesOf(random);
    const full = random() < 0.5;
    const forgets = new Set(Array.from({ length: random() < 0.3 ? 3 : 0 }, () => 2 + Math.floor(random() * 10)));
    const { found, tooLarge, requests, received } = await list({ sizes, full, forgets });
    const bytes = sizes.reduce((sum, each) => sum + each, 0);
    const times = 1 + forgets.size;
    expect([seed, found, tooLarge]).toEqual([seed, sizes.map((_, at) => at), []]);
    expect([seed, requests], 'requests').toEqual([
      seed,
      Math.min(requests, times * (12 + sizes.length / 250 + 2 * (bytes / MIB + 1))),
    ]);
    expect([seed, received], 'bytes').toEqual([seed, Math.min(received, times * (64 * MIB + 2 * bytes))]);
  }
});
