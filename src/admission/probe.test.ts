import { expect, test } from 'vitest';
import { certificate, servedAdmission } from '../../test/support/admission-server.ts';
import { selfSigned } from '../../test/support/self-signed.ts';
import { probe, Untrusted } from './probe.ts';

const { signal } = new AbortController();
const at = (url: string) => ({ name: 'attune-admission', namespace: 'attune', url });
const HERE = at('https://127.0.0.1:9443');

test('with the bundle that vouches for the certificate the status is told, and with any other it is not', async () => {
  const { port } = await servedAdmission();
  const address = { host: '127.0.0.1', port };
  expect(await probe(address, HERE, certificate.cert, signal)).toBe(200);
  await expect(probe(address, HERE, selfSigned('127.0.0.1').cert, signal)).rejects.toThrow(Untrusted);
  // For another name than the one that the API server calls.
  await expect(probe(address, at(''), certificate.cert, signal)).rejects.toThrow(Untrusted);
  // An empty bundle trusts nobody, and none takes anybody.
  await expect(probe(address, HERE, '', signal)).rejects.toThrow(Untrusted);
  expect(await probe(address, at(''), undefined, signal)).toBe(200);
});

test('where nobody answers it is no question of trust', async () => {
  const { server, port } = await servedAdmission();
  await server.stop();
  const asked = probe({ host: '127.0.0.1', port }, HERE, certificate.cert, signal);
  await expect(asked).rejects.toThrow('ECONNREFUSED');
  await expect(asked).rejects.not.toThrow(Untrusted);
});
