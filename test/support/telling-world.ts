import type { SourceRef } from '../../src/api/sources.ts';
import { sourceId } from '../../src/domain/ledger/source-id.ts';
import type { Change } from '../../src/domain/outcome/change.ts';
import type { OutcomeOf } from '../../src/domain/outcome/outcome.ts';
import type { EventPost } from '../../src/kube/events/event-post.ts';
import type { Alert } from '../../src/telemetry/alerts.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { controllerMetrics } from '../../src/telemetry/metric-tables/controller.ts';
import { web } from './engine-world.ts';
import { virtualClock } from './virtual-clock.ts';

/** What a report needs, and all that it tells. */
export function tellingWorld(level = 'debug', wall = 0) {
  const clock = virtualClock(wall);
  const lines: string[] = [];
  const events: EventPost[] = [];
  const alerts: Alert[] = [];
  const log = createLog({ format: '', level, write: (line) => void lines.push(line.trimEnd()), now: () => 0 });
  const metrics = controllerMetrics({ byNamespace: false });
  const end = new AbortController();
  return {
    clock,
    lines,
    events,
    alerts,
    /** Tells the process to end. */
    end: () => end.abort(),
    /** The value of a series as it is rendered, undefined if there is none. */
    metric(series: string): number | undefined {
      const line = metrics
        .render()
        .split('\n')
        .find((each) => each.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    },
    deps: {
      log,
      metrics,
      clock,
      mayTell: () => true,
      ending: end.signal,
      compat: false,
      post: (event: EventPost) => void events.push(event),
      alert: (alert: Alert) => void alerts.push(alert),
    },
  };
}

export const verdict: Change['verdict'] = {
  reload: true,
  because: 'auto',
  rule: 'auto is set',
  container: 0,
  strategy: 'env-vars',
  ask: {
    because: 'auto',
    origin: { by: 'annotation', place: 'metadata', key: 'reloader.stakater.com/auto', value: 'true' },
    wants: { what: 'used', kind: 'ConfigMap' },
    overrides: {},
  },
};

/** Of a source that Deployment web has to be rolled for. */
export const change = (name: string, kind: SourceRef['kind'] = 'ConfigMap'): Change => {
  const ref: SourceRef = { kind, namespace: 'shop', name };
  return {
    id: sourceId(ref),
    ref,
    verdict,
    difference: 'changed',
    since: 1,
    current: 'B',
    mark: 'b',
  };
};

/** Deployment web was rolled. */
export const rolled = (changes: readonly Change[], parts: Partial<OutcomeOf<'rolled'>> = {}): OutcomeOf<'rolled'> => ({
  ...{ is: 'rolled', workload: web(3), changes, job: undefined, startedAt: 0, lastChangeAt: 0, ...parts },
});

/** Deployment web could not be rolled. */
export const failed = (changes: readonly Change[], error: string, startedAt = 0): OutcomeOf<'failed'> => ({
  ...{ is: 'failed', workload: web(3), changes, error, startedAt, retry: 'soon' },
});
