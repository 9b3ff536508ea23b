import { expect, test } from 'vitest';
import { RECORD } from '../../../src/api/annotations.ts';
import { encodeRecord } from '../../../src/domain/ledger/record.ts';
import type { SourceId } from '../../../src/domain/ledger/source-id.ts';
import { piecesOf } from '../../../src/domain/source/fingerprint.ts';
import { withKey } from '../../../src/model/ledger/ledger-key.ts';
import { Audit } from '../../support/audit.ts';
import { type Stage, stage } from '../../support/controller.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf, sourceObject } from '../../support/workloads.ts';
import { AUTO, movesIn, untilMarked } from '../reloader/moves.ts';

const DEPLOYMENT = 'Deployment';
const NAMES = ['quiet', 'changed', 'rolled', 'rolled-changed', 'canary'] as const;
const RECORDED = ['rolled', 'rolled-changed'];
const pin = (value: string) => ({ pin: value });

interface Ledger {
  readonly key: string;
}

const keySecret = ({ home }: Stage): string => `/api/v1/namespaces/${home}/secrets/attune-ledger-key`;
const shard = ({ home }: Stage): string => `/api/v1/namespaces/${home}/configmaps/attune-ledger-0`;
const rollsOf = (audit: Audit, name: string): number => audit.templates(DEPLOYMENT, name).length - 1;

/** What a version that took any key for one left behind: records of two workloads, a checkpoint for all. */
async function leave(at: Stage, weak: ReturnType<typeof withKey>): Promise<void> {
  const moves = movesIn(at.space);
  const workloads: Record<string, object> = {};
  for (const name of NAMES) {
    await moves.createSource('Secret', name, pin('1234'));
    const pod = { containers: [{ name: 'app', image: 'app', envFrom: [{ secretRef: { name } }] }] };
    const { metadata } = await moves.create(DEPLOYMENT, name, { annotations: AUTO, pod });
    const id: SourceId = `Secret/${name}`;
    const { exact } = weak.digest.fingerprint(
      { kind: 'Secret', namespace: at.space, name },
      piecesOf('Secret', sourceObject('Secret', name, pin('1234'))),
    );
    const uid = metadata.uid ?? '';
    workloads[`${DEPLOYMENT}/${at.space}/${name}`] = { uid, seq: 1, applied: { [id]: exact } };
    if (!RECORDED.includes(name)) continue;
    const record = encodeRecord({ uid, seq: 2, key: weak.keyId, template: 'x', sources: { [id]: exact } });
    await moves.annotate(DEPLOYMENT, name, { [RECORD]: record });
  }
  const ledger = JSON.stringify({ v: 2, key: weak.keyId, alive: Date.now(), shards: 1, workloads });
  await api().create(pathOf('ConfigMap', at.home), { metadata: { name: 'attune-ledger-0' }, data: { ledger } });
}

const ledgerOf = (object: AnyObject | undefined): Ledger | undefined => {
  const text = (object as { readonly data?: { readonly ledger?: string } } | undefined)?.data?.ledger;
  return text === undefined ? undefined : (JSON.parse(text) as Ledger);
};

test.each([
  ['no key in it', {}, ''],
  ['a key of one byte', { key: 'eA==' }, 'x'],
])(
  'a Secret with %s: replaced, compared with once more, rewritten, and nothing rolls for it',
  async (_is, data, key) => {
    await using at = await stage();
    const weak = withKey(Buffer.from(key), false);
    await leave(at, weak);
    await api().create(pathOf('Secret', at.home), { metadata: { name: 'attune-ledger-key' }, data });
    const moves = movesIn(at.space);
    await using audit = await Audit.of(at.space, [DEPLOYMENT]);
    await moves.setData('Secret', 'changed', pin('2345'));
    await moves.setData('Secret', 'rolled-changed', pin('2345'));

    const first = await at.start();
    await first.untilLine(/key in Secret attune-ledger-key has \d bytes, fewer than 32: replaced/);
    await untilMarked(audit, DEPLOYMENT, 'changed', pin('2345'));
    await untilMarked(audit, DEPLOYMENT, 'rolled-changed', pin('2345'));
    const secret = (await api().find(keySecret(at))) as AnyObject & { readonly data: Readonly<Record<string, string>> };
    expect(Buffer.from(secret.data['key'] ?? '', 'base64')).toHaveLength(32);
    // Nothing that anybody could have made with the old key is left.
    await until(async () => ledgerOf(await api().find(shard(at)))?.key !== weak.keyId, { what: 'the checkpoint anew' });
    const recordOf = (name: string): string => audit.latest(DEPLOYMENT, name)?.metadata.annotations?.[RECORD] ?? '';
    await until(() => !recordOf('rolled').includes(weak.keyId), { what: 'the record anew' });
    expect(recordOf('rolled')).toContain('"seq":2');
    await first.kill9();

    // From here on it is a ledger like any other.
    await moves.setData('Secret', 'rolled', pin('3456'));
    await using second = await at.start();
    await untilMarked(audit, DEPLOYMENT, 'rolled', pin('3456'));
    await moves.setData('Secret', 'canary', pin('3456'));
    await untilMarked(audit, DEPLOYMENT, 'canary', pin('3456'));
    expect(second.lines.filter((line) => line.includes('fewer than 32'))).toEqual([]);
    const rolls = Object.fromEntries(NAMES.map((name) => [name, rollsOf(audit, name)]));
    expect(rolls).toEqual({ quiet: 0, changed: 1, rolled: 1, 'rolled-changed': 1, canary: 1 });
  },
);
