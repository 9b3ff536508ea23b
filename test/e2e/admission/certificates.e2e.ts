import { beforeAll, expect, test } from 'vitest';
import { ownCertificate } from '../../../src/admission/certificates/own-certificate.ts';
import { pemBlocks } from '../../../src/admission/certificates/pem.ts';
import type { ServingCertificate } from '../../../src/admission/certificates/serving-certificate.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { type AnyObject, api, namespace, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const NAME = 'attune-admission-cert';
let ns: string;
beforeAll(async () => {
  ns = await namespace('certificates');
});

/** A replica with the rights that the chart gives it. */
async function replica(name: string, verbs: readonly string[] = ['get', 'create', 'update']) {
  const access = await serviceAccount(ns, name, [{ apiGroups: [''], resources: ['secrets'], verbs }]);
  const told: ServingCertificate[] = [];
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const stop = new AbortController();
  const run = (hosts = ['127.0.0.1']) => {
    const running = ownCertificate(
      {
        client: kubeClient(access),
        namespace: ns,
        name: NAME,
        hosts,
        lifeMs: 3_600_000,
        clock: systemClock,
        log: { debug: say, info: say, warn: say, error: say },
        metrics: { set: () => {}, increment: () => {} },
        onChange: (certificate) => void told.push(certificate),
      },
      stop.signal,
    );
    return async () => {
      stop.abort();
      await running;
    };
  };
  return { told, lines, run };
}

const secretPath = () => `/api/v1/namespaces/${ns}/secrets/${NAME}`;
const textOf = ({ data }: AnyObject, file: string): string => Buffer.from(data[file], 'base64').toString();

test('of many replicas that start at once one writes, all serve the same, and damage is mended by one', async () => {
  const all = await Promise.all(['a', 'b', 'c', 'd'].map((name) => replica(name)));
  const stops = all.map(({ run }) => run());
  await until(() => all.every(({ told }) => told.length > 0), { what: 'all serving' });
  const secret = await api().get(secretPath());
  for (const { told } of all) {
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ cert: textOf(secret, 'tls.crt'), bundle: textOf(secret, 'ca.crt') });
  }
  expect(all.flatMap(({ lines }) => lines)).toEqual(["admission's certificate authority and certificate were made"]);

  await api().patch(secretPath(), { data: { 'ca.key': null } });
  const mended = () => all.every(({ told }) => told.length > 1);
  await until(mended, { what: 'all serving the new one' });
  const [first, ...others] = all.map(({ told }) => told.at(-1));
  for (const each of others) expect(each).toEqual(first);
  expect(first?.bundle).not.toBe(textOf(secret, 'ca.crt'));
  expect(pemBlocks(first?.bundle ?? '')).toHaveLength(1);
  const anew = all.flatMap(({ lines }) => lines).filter((line) => line.includes('made anew'));
  expect(anew).toEqual([
    "admission's certificates could not be used (ca.crt and ca.key are no pairs) and were made anew",
  ]);
  await Promise.all(stops.map((stop) => stop()));
});

test('without the right to write it says so, and serves what is there', async () => {
  const reader = await replica('reader', ['get']);
  const stop = reader.run(['elsewhere.example']);
  await until(() => reader.lines.length > 0, { what: 'the sentence' });
  expect(reader.lines).toEqual([
    `admission's certificate cannot be kept in Secret ${ns}/${NAME}, as this may not be done: update secrets. ` +
      'Allow get, create and update there, or give certificates with --admission-cert-dir',
  ]);
  expect(reader.told).toHaveLength(1);
  await stop();
});
