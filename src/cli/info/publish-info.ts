import { hostname } from 'node:os';
import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { Settings } from '../../config/settings.ts';
import type { Leadership } from '../../controller/leadership.ts';
import { ownCure } from '../../controller/report/ledger-report.ts';
import { formatTime } from '../../domain/text/rfc3339.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError, unlessAbsent } from '../../kube/kube-error.ts';
import { retryTransient } from '../../kube/retry-transient.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { VERSION } from '../version.ts';
import { INFO_NAME, infoData } from './attune-info.ts';

interface PublishDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** `ownNamespace` is where the ledger is; '': nobody told us, and nothing is published. */
  readonly settings: Settings;
  readonly mayWrite: () => boolean;
}

// How often a refused write is tried again: somebody may have granted the right.
const AGAIN_MS = 600_000;

/** The same leadership; at the beginning of each term version and flags are published. */
export function publishing(leadership: Leadership, given: Omit<PublishDeps, 'mayWrite'>): Leadership {
  return {
    ...leadership,
    run: (signal, lead) =>
      leadership.run(signal, (term) => {
        const mayWrite = (): boolean => !term.aborted && leadership.mayWrite();
        if (given.settings.ownNamespace !== '') void publish({ ...given, mayWrite }, term);
        return lead(term);
      }),
  };
}

/** Runs beside the work: a failure is reported once, and delays nothing. */
async function publish(deps: PublishDeps, term: AbortSignal): Promise<void> {
  for (let wasTold = false; !term.aborted; wasTold = true) {
    try {
      await retryTransient(() => write(deps), { clock: deps.clock, signal: term });
      return;
    } catch (error) {
      if (term.aborted) return;
      tell(deps, error, wasTold);
      // With upstream's rights it may not be allowed, and upstream would not try again.
      if (deps.settings.compat) return;
      await pause(deps.clock, AGAIN_MS, term);
    }
  }
}

function tell({ log, settings }: PublishDeps, error: unknown, wasTold: boolean): void {
  const why = `${INFO_NAME} was not written: ${error instanceof Error ? error.message : String(error)}`;
  const cure = KubeError.is(error) ? ownCure(error, RIGHTS) : undefined;
  if (settings.compat || wasTold) log.debug(why, { cure });
  else log.warn(`${why}; attune explain cannot judge by the flags of this controller`, { cure });
}

const RIGHTS = `create on configmaps, get and update on the one named ${INFO_NAME},`;

/** Reads first: where nothing has changed, nothing is written. */
async function write(deps: PublishDeps, attempt = 1): Promise<void> {
  const { client, settings, mayWrite } = deps;
  if (!mayWrite()) return;
  const namespace = settings.ownNamespace;
  const told = infoData(settings, VERSION, settings.podName || hostname());
  const at = { name: INFO_NAME, namespace };
  const found = await client.get<DataObject>(CONFIG_MAPS, at).catch(unlessAbsent);
  const isSaid = Object.entries(told).every(([key, text]) => found?.data?.[key] === text);
  if (isSaid || !mayWrite()) return;
  const { resourceVersion } = found?.metadata ?? {};
  const metadata = {
    ...at,
    labels: { 'app.kubernetes.io/managed-by': 'attune' },
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  const publishedAt = formatTime(client.serverNow() / 1000);
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { ...told, publishedAt } };
  try {
    if (found) await client.replace(CONFIG_MAPS, at, body);
    else await client.create(CONFIG_MAPS, namespace, body);
  } catch (error) {
    // Somebody wrote it since we looked: look again, unless it was our successor.
    if (!KubeError.is(error, 'Conflict', 'AlreadyExists') || attempt > 2) throw error;
    await write(deps, attempt + 1);
  }
}
