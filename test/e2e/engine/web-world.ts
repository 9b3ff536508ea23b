import { Audit, type AuditedKind } from '../../support/audit.ts';
import { type Controller, startController } from '../../support/controller.ts';
import { type AnyObject, api, controlPlane, namespace } from '../../support/sandbox.ts';
import { pathOf } from '../../support/workloads.ts';
import { type Moves, movesIn, untilMarked } from '../reloader/moves.ts';

const DEPLOYMENT = 'Deployment';
const COUNTED_MS = 60_000;

/**
 * The Deployment controller has seen these versions, and has counted their revisions. Of a template that is not counted yet
 * nobody can tell after a gap whether it is newer than its source, and a rollout too many is right.
 */
export async function untilCounted(audit: Audit, written: readonly AnyObject[]): Promise<void> {
  const isCounted = ({ metadata: { name, generation = 0 } }: AnyObject) =>
    (audit.latest(DEPLOYMENT, name)?.['status']?.observedGeneration ?? 0) >= generation;
  await audit.until('the Deployment controller has seen them', () => written.every(isCounted), COUNTED_MS);
}

/** A Deployment `web` that uses a ConfigMap of that name, and another pair to prove that something did not happen. */
export interface WebWorld extends AsyncDisposable {
  readonly shop: string;
  readonly moves: Moves;
  readonly audit: Audit;
  start(): Promise<Controller>;
  /** Somebody else edits the template. */
  setImage(image: string): Promise<unknown>;
  rolls(): number;
  /** A later change of another workload has arrived: so would an earlier one of this have. */
  fence(): Promise<void>;
}

export async function webWorld({
  flags,
  kinds,
}: {
  readonly flags: readonly string[];
  readonly kinds: readonly AuditedKind[];
}): Promise<WebWorld> {
  const [home, shop] = await Promise.all([namespace('web-home'), namespace('web')]);
  const moves = movesIn(shop);
  const created: AnyObject[] = [];
  for (const name of ['web', 'fence']) {
    await moves.createSource('ConfigMap', name, { value: 'a' });
    created.push(await moves.createUser(name, name));
  }
  const audit = await Audit.of(shop, [DEPLOYMENT, ...kinds]);
  await untilCounted(audit, created);
  const running: Controller[] = [];
  let round = 0;
  return {
    shop,
    moves,
    audit,
    async start() {
      const access = controlPlane();
      const controller = await startController({ home, access, flags: [`--namespaces=${shop}`, ...flags] });
      running.push(controller);
      return controller;
    },
    setImage: (image) =>
      api().patch(
        pathOf(DEPLOYMENT, shop, 'web'),
        { spec: { template: { spec: { containers: [{ name: 'app', image }] } } } },
        'strategic',
      ),
    rolls: () => audit.templates(DEPLOYMENT, 'web').length - 1,
    async fence() {
      round += 1;
      await moves.setData('ConfigMap', 'fence', { value: String(round) });
      await untilMarked(audit, DEPLOYMENT, 'fence', { value: String(round) });
    },
    async [Symbol.asyncDispose]() {
      for (const controller of running) await controller[Symbol.asyncDispose]();
      await audit[Symbol.asyncDispose]();
    },
  };
}
