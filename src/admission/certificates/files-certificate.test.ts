import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { testFolder } from '../../../test/support/test-folder.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { filesCertificate } from './files-certificate.ts';
import type { ServingCertificate } from './serving-certificate.ts';

const folder = testFolder('certificates');
const [one, two] = [selfSigned('one'), selfSigned('two')];

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

function watch(dir: string) {
  const told: ServingCertificate[] = [];
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const clock = virtualClock();
  const stop = new AbortController();
  stops.push(stop);
  const expiries: number[] = [];
  const metrics = { set: (_: string, __: object, value: number) => void expiries.push(value), increment: () => {} };
  const log = { debug: say, info: say, warn: say, error: say };
  void filesCertificate({ dir, clock, log, metrics, onChange: (given) => void told.push(given) }, stop.signal);
  /** Until the folder has been read once more. */
  const again = async () => {
    await eventually(() => clock.timers).toBe(1);
    clock.advance(10_000);
    await eventually(() => clock.timers).toBe(1);
  };
  return { told, lines, again, expiries, clock };
}

function put(dir: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
}
const pair = ({ cert, key }: typeof one) => ({ 'tls.crt': cert, 'tls.key': key });

describe('a folder with a certificate', () => {
  it('is served as it is, without ca.crt for nobody to trust', async () => {
    const dir = folder.path;
    put(dir, pair(one));
    const { told, lines, again, expiries } = watch(dir);
    await again();
    expect(told).toEqual([{ ...one, bundle: '', notAfterMs: Date.UTC(2049, 11, 31, 23, 59, 59) }]);
    expect(expiries).toEqual([Date.UTC(2049, 11, 31, 23, 59, 59) / 1000]);
    put(dir, { 'ca.crt': two.cert });
    await again();
    expect(told.at(-1)).toMatchObject({ cert: one.cert, bundle: two.cert });
    expect(lines).toEqual([]);
  });

  it('is followed when a mounted Secret is swapped', async () => {
    const dir = folder.path;
    put(join(dir, '..1'), pair(one));
    symlinkSync('..1', join(dir, '..data'));
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(dir, name));
    const { told, again } = watch(dir);
    await again();
    put(join(dir, '..2'), pair(two));
    symlinkSync('..2', join(dir, '..data_tmp'));
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
    rmSync(join(dir, '..1'), { recursive: true });
    await again();
    expect(told.map(({ cert }) => cert)).toEqual([one.cert, two.cert]);
  });

  it('that is half written changes nothing, and is told once', async () => {
    const dir = folder.path;
    put(dir, pair(one));
    const { told, lines, again } = watch(dir);
    await again();
    put(dir, { 'tls.crt': two.cert });
    await again();
    await again();
    expect(told).toHaveLength(1);
    expect(lines).toEqual([
      `admission's certificate in ${dir} cannot be used, the last good one is served on: ` +
        'tls.key: expected the key of the certificate in tls.crt, and it is another one',
    ]);
    put(dir, pair(two));
    await again();
    expect(told.at(-1)).toMatchObject(two);
  });
});

describe('a folder without one', () => {
  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['is empty', {}, 'tls.crt: there is no such file; tls.key: there is no such file'],
    ['has no key', { 'tls.crt': one.cert }, 'tls.key: there is no such file'],
    ['has junk', { ...pair(one), 'tls.crt': 'junk' }, 'tls.crt: expected a certificate in PEM'],
    [
      'has a junk key and a junk authority',
      { ...pair(one), 'tls.key': 'junk', 'ca.crt': 'junk' },
      'ca.crt: expected certificates in PEM; tls.key: expected a private key in PEM, without a passphrase',
    ],
  ])('that %s is told, and read again', async (_, files, problem) => {
    const dir = folder.path;
    put(dir, files);
    const { told, lines, again } = watch(dir);
    await again();
    const start = `admission's certificate in ${dir} cannot be used, nothing is served until it can be used: `;
    expect(lines).toEqual([start + problem]);
    rmSync(join(dir, 'ca.crt'), { force: true });
    put(dir, pair(one));
    await again();
    expect(told).toHaveLength(1);
  });
});
