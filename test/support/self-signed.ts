import { generateKeyPairSync, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** A certificate of a name or IPv4 address that is its own authority, put together byte by byte: a test needs no more of X.509 than this. */
export function selfSigned(name: string, until = '491231235959Z'): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = (tag: number, ...parts: readonly (Buffer | string)[]): Buffer => {
    const value = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const size = value.length < 128 ? [value.length] : [0x82, value.length >> 8, value.length & 255];
    return Buffer.concat([Buffer.from([tag, ...size]), value]);
  };
  const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
  const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
  const algorithm = sequence(oid('2a8648ce3d040302')); // ecdsa-with-SHA256
  const subject = sequence(der(0x31, sequence(oid('550403'), der(0x0c, name))));
  const authority = sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.from([255])))));
  const identity = isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, name);
  const alternative = sequence(oid('551d11'), der(0x04, sequence(identity)));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    subject,
    sequence(der(0x17, '000101000000Z'), der(0x17, until)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(authority, alternative)),
  );
  const signature = sign('sha256', body, privateKey);
  const whole = sequence(body, algorithm, der(0x03, Buffer.from([0]), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}
