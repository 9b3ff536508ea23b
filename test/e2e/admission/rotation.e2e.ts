import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { apiRequest } from '../../../src/sandbox/control-plane/api-request.ts';
import { api, controlPlane } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { DIALECTS, world } from './world.ts';

const LIFE = '--admission-cert-life=60s';
const [STAKATER] = DIALECTS as [(typeof DIALECTS)[number]];

/** How many requests the API server has let pass because nobody answered, by its own count. */
async function failedOpen(name: string): Promise<number> {
  const { text } = await apiRequest(controlPlane(), 'GET', '/metrics', { timeoutMs: 30_000 });
  const lines = text.split('\n').filter((line) => line.startsWith('apiserver_admission_webhook_fail_open_count{'));
  return lines.filter((line) => line.includes(name)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

test.each(['Fail', 'Ignore'] as const)(
  '%s: certificates are renewed and replicas replaced, and no write is refused or left alone',
  async (policy) => {
    const flags = [LIFE, `--admission-failure-policy=${policy}`, '--drain=2s'];
    await using w = await world(STAKATER, { flags, replicas: 2, spaces: 1 });
    await using scene = await w.scene();
    await scene.reload('v2');
    const passedBefore = await failedOpen('admission.attune.dev');
    const secret = `/api/v1/namespaces/${w.stage.home}/secrets/${w.stage.name}-cert`;
    const served = async () => {
      const { data } = await api().get(secret);
      const leaf = new X509Certificate(Buffer.from(data['tls.crt'], 'base64'));
      return { leaf: leaf.serialNumber, bundle: String(data['ca.crt']) };
    };
    const refused: unknown[] = [];
    let writes = 0;
    const stop = new AbortController();
    const writer = (async () => {
      while (!stop.signal.aborted) {
        writes += 1;
        await api()
          .replace(scene.path, {
            ...scene.manifest,
            metadata: { ...scene.manifest.metadata, labels: { n: `${writes}` } },
          })
          .catch((error: unknown) => refused.push(error));
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
        if (isNew) w.stage.service.cut();
        return leaves.size >= wanted.leaves && bundles.size >= wanted.bundles;
      },
      { what: 'the certificates are renewed', deadlineMs: 400_000 },
    );
    for (const old of w.replicas.splice(0)) {
      w.replicas.push(await w.stage.serve(['--quiet-period=100ms', ...flags]));
      await old.stop();
    }
    w.stage.service.cut();
    const last = writes;
    await until(() => writes > last + 10, { what: 'some more writes' });
    stop.abort();
    await writer;
    expect(refused.map(String)).toEqual([]);
    expect(await failedOpen('admission.attune.dev')).toBe(passedBefore);
    expect(scene.rolls()).toBe(1);
  },
  500_000,
);
