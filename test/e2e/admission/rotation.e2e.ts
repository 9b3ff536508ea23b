import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { api } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { DIALECTS, type Scene, world } from './world.ts';

const LIFE = '--admission-cert-life=60s';
const [STAKATER] = DIALECTS as [(typeof DIALECTS)[number]];

/** The object as it is, with a spec that knows nothing of the mark. */
async function writeOver({ path, manifest }: Scene, label: string): Promise<void> {
  const { metadata, ...live } = await api().get(path);
  const { resourceVersion: _, ...rest } = metadata;
  await api().replace(path, { ...live, metadata: { ...rest, labels: { label } }, spec: manifest.spec });
}

test.each((['Fail', 'Ignore'] as const).slice(0, rounds(1, 2)))(
  '%s: certificates are renewed and replicas replaced, and no write is refused or left alone',
  async (policy) => {
    // The pass-through hears up to a second late that a replica goes; the rest is for a machine that stands still meanwhile.
    const flags = [LIFE, `--admission-failure-policy=${policy}`, '--drain=6s'];
    await using w = await world(STAKATER, { flags, replicas: 2, spaces: 1 });
    await using scene = await w.scene();
    await scene.reload('v2');
    const secret = `/api/v1/namespaces/${w.stage.home}/secrets/${w.stage.name}-cert`;
    const served = async () => {
      const { data } = await api().get(secret);
      const leaf = new X509Certificate(Buffer.from(data['tls.crt'], 'base64'));
      return { leaf: leaf.serialNumber, bundle: String(data['ca.crt']) };
    };
    const refused: unknown[] = [];
    let writes = 0;
    let isCutDue = false;
    let isRestless = false;
    const stop = new AbortController();
    const writer = (async () => {
      while (!stop.signal.aborted) {
        // Between two writes: one that is on its way when its connection ends is lost by no fault of Attune's.
        if (isCutDue || isRestless) w.stage.service.cut();
        isCutDue = false;
        writes += 1;
        await writeOver(scene, `${writes}`).catch((error: unknown) => refused.push(error));
        await delay(50);
      }
    })();
    const leaves = new Set<string>();
    const bundles = new Set<string>();
    const wanted = { leaves: rounds(2, 4), bundles: rounds(1, 3) };
    await until(
      async () => {
        const { leaf, bundle } = await served();
        const isNew = !leaves.has(leaf);
        leaves.add(leaf);
        bundles.add(bundle);
        // Who is connected already never sees the new certificate.
        isCutDue ||= isNew;
        return leaves.size >= wanted.leaves && bundles.size >= wanted.bundles;
      },
      { what: 'the certificates are renewed', deadlineMs: 400_000 },
    );
    // Every write shakes hands anew, and may be led to a replica that is about to go.
    isRestless = true;
    for (const old of w.replicas.splice(0)) {
      w.replicas.push(await w.stage.serve(['--quiet-period=100ms', ...flags]));
      await old.stop();
    }
    const last = writes;
    await until(() => writes > last + 10, { what: 'some more writes' });
    stop.abort();
    await writer;
    expect(refused.map(String)).toEqual([]);
    // Every write lacks the mark: one that passed without admission would be another template.
    expect(scene.rolls()).toBe(1);
  },
  500_000,
);
