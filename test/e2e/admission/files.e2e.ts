import { expect, test } from 'vitest';
import { makeAuthority, makeLeaf } from '../../../src/admission/certificates/make-certificates.ts';
import { stage } from '../../support/controller.ts';
import { api } from '../../support/sandbox.ts';
import { testFolder } from '../../support/test-folder.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { movesIn } from '../reloader/moves.ts';
import { manifest } from './world.ts';

const folder = testFolder('admission-files');
const HASH = 'pod-reloader.cs.sap.com/config-hash';
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';

test("somebody's own certificate and registration, as SAP's users have them: served alone, and its own are left alone", async () => {
  await using here = await stage();
  const times = { nowMs: Date.now(), notAfterMs: Date.now() + 3_600_000 };
  const authority = await makeAuthority(times);
  const { key, cert } = await makeLeaf(authority, ['127.0.0.1'], times);
  for (const [name, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert })) {
    await folder.file(name, text);
  }
  const flags = ['admission', '--admission-listen=127.0.0.1:0', `--admission-cert-dir=${folder.path}`, '--drain=0s'];
  await using server = await here.start([...flags, '--compat=sap']);
  const line = await server.untilLine(/admission is ready/);
  const url = `https://127.0.0.1:${/port=(\d+)/.exec(line)?.[1]}/mutate`;
  const caBundle = Buffer.from(authority.cert).toString('base64');
  const name = `theirs-${here.home}`;
  await api().create(CONFIGURATIONS, {
    metadata: { name },
    webhooks: [
      {
        // Not SAP's own name: by that `attune doctor`, which other tests run here meanwhile, knows SAP's program.
        name: 'mutate.theirs.example.com',
        clientConfig: { url, caBundle },
        rules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'], operations: ['CREATE', 'UPDATE'] },
        ],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': here.space } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        failurePolicy: 'Fail',
      },
    ],
  });
  try {
    await movesIn(here.space).createSource('ConfigMap', 'c', { k: 'v1' });
    const path = pathOf('Deployment', here.space);
    const made = manifest({ 'pod-reloader.cs.sap.com/configmaps': 'c' });
    // The API server hears of a registration a moment later.
    const hashed = await until(
      async () => {
        const { spec } = await api().create(`${path}?dryRun=All`, made);
        return spec.template.metadata.annotations?.[HASH] as string | undefined;
      },
      { what: 'a hash' },
    );
    expect(hashed).toMatch(/^[0-9a-f]{64}$/);
    expect((await api().create(path, made))['spec'].template.metadata.annotations[HASH]).toBe(hashed);
    expect((await api().get(`${CONFIGURATIONS}/${name}`))['webhooks'][0].clientConfig).toEqual({ url, caBundle });
  } finally {
    await api().delete(`${CONFIGURATIONS}/${name}`);
  }
});
