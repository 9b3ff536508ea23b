import { Checkpoint } from '../../src/controller/ledger/checkpoint.ts';
import { LedgerReport } from '../../src/controller/report/ledger-report.ts';
import type { Restart } from '../../src/domain/ledger/restart.ts';
import type { SourceId } from '../../src/domain/ledger/source-id.ts';
import type { WorkloadState } from '../../src/domain/state/workload-state.ts';
import { refOfKey, type WorkloadKey } from '../../src/domain/workload/workload.ts';
import { withKey } from '../../src/model/ledger/ledger-key.ts';
import type { ShardContent } from '../../src/model/ledger/shard.ts';
import { parsed, stateOf, webObject } from './engine-world.ts';
import type { Exchange } from './scripted-api.ts';
import { startClient } from './scripted-client.ts';
import { change, tellingWorld } from './telling-world.ts';

/** As the API server: a ConfigMap holds 1 MiB at most. */
const OBJECT_BYTES = 1_048_576;

interface Written {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly data: { readonly ledger: string };
}

type Fate = number | 'dies' | 'hangs' | undefined;

/** The ConfigMaps of a ledger as an API server keeps them, over any number of processes. */
export function ledgerStore() {
  const shards = new Map<string, { text: string; version: number }>();
  const writes: { readonly name: string; readonly bytes: number; readonly status: number }[] = [];
  let version = 100;
  const store = {
    shards,
    writes,
    /** What becomes of a write instead: a status, a connection that breaks for good, or no answer. */
    fate: (_name: string): Fate | Promise<Fate> => undefined,
    contents: () => new Map([...shards].map(([name, { text }]) => [name, JSON.parse(text) as ShardContent])),
    /** Where each workload is, by the number of the shard. */
    placeOf(key: WorkloadKey): readonly number[] {
      const found = [...store.contents()].filter(([, { workloads }]) => key in workloads);
      return found.map(([name]) => Number(name.slice('attune-ledger-'.length)));
    },
  };
  const put = (name: string, follows: string | undefined, text: string): number => {
    const known = shards.get(name);
    if (Buffer.byteLength(text) > OBJECT_BYTES) return 422;
    if (known ? String(known.version) !== follows : follows !== undefined) return known ? 409 : 404;
    version += 1;
    shards.set(name, { text, version });
    return 200;
  };
  const answerWith = (exchange: Exchange, name: string): void => {
    const known = shards.get(name);
    const metadata = { name, resourceVersion: String(known?.version) };
    if (known) exchange.json(200, { metadata, data: { ledger: known.text } });
    else exchange.status(404, 'NotFound');
  };
  const carryOut = async (exchange: Exchange): Promise<'dies' | undefined> => {
    const { metadata, data } = JSON.parse(exchange.body) as Written;
    const fate = await store.fate(metadata.name);
    if (fate === 'dies' || fate === 'hangs') return fate === 'dies' ? fate : undefined;
    const status = fate ?? put(metadata.name, metadata.resourceVersion, data.ledger);
    writes.push({ name: metadata.name, bytes: Buffer.byteLength(data.ledger), status });
    if (status === 200) answerWith(exchange, metadata.name);
    else exchange.status(status, status === 409 ? 'Conflict' : 'Invalid');
    return undefined;
  };
  const connect = () => {
    let isDead = false;
    return startClient(async (exchange) => {
      if (!isDead && exchange.verb !== 'get') isDead = (await carryOut(exchange)) === 'dies' || isDead;
      else if (!isDead) answerWith(exchange, exchange.path.slice(exchange.path.lastIndexOf('/') + 1));
      if (isDead) exchange.cut();
    });
  };
  return Object.assign(store, {
    /** A process with the ledger of this store. */
    async process(
      states: ReadonlyMap<WorkloadKey, WorkloadState>,
      { seen = 1, seed = 1, ledgerKey = withKey(Buffer.alloc(32, seed), false) } = {},
    ) {
      const { clock, deps, lines } = tellingWorld('debug', Date.now());
      const { client } = await connect();
      const told: string[] = [];
      const control = { leads: true, seen };
      const checkpoint = new Checkpoint({
        ...ledgerKey,
        ...{ client, clock, namespace: 'attune', catchUpMaxMs: 60_000 },
        mayStore: () => true,
        states: () => states,
        heard: () => ({ seen: { ConfigMap: control.seen }, told: { Deployment: control.seen } }),
        mayWrite: () => control.leads,
        report: new LedgerReport(deps),
        tooLarge: ({ ref }, bytes) => void told.push(`${ref.namespace}/${ref.name} ${bytes}`),
      });
      return { checkpoint, clock, lines, told, control };
    },
  });
}

/** A Deployment whose pods run with these sources. */
export function stateWith(
  key: WorkloadKey,
  sources: Readonly<Record<SourceId, string>>,
  restart?: Restart,
): WorkloadState {
  const { name, namespace } = refOfKey(key);
  const object = webObject(3, { uid: key, rolledOut: true });
  const state = stateOf(parsed({ ...object, metadata: { ...object.metadata, name, namespace } }));
  const changes = Object.entries(sources).map(([id, current]) => ({
    ...change('app'),
    ...{ id: id as SourceId, current, since: 0 },
  }));
  state.settled(changes, 0);
  if (restart) state.restarting(restart);
  return state;
}
