import type { Scenario } from './scenario.ts';
import { admission } from './scenarios/admission.ts';
import { batch } from './scenarios/batch.ts';
import { churn } from './scenarios/churn.ts';
import { configs } from './scenarios/configs.ts';
import { downtime } from './scenarios/downtime.ts';
import { failOver } from './scenarios/fail-over.ts';
import { fanOut1000, fanOut5000 } from './scenarios/fan-out.ts';
import { faults } from './scenarios/faults.ts';
import { idle } from './scenarios/idle.ts';
import { latency, latencyDefault } from './scenarios/latency.ts';
import { MEMORY_AFTER_BURST } from './scenarios/memory-after-burst.ts';
import { redisAgent } from './scenarios/redis-agent.ts';
import { STAKATER } from './scenarios/stakater.ts';
import { startUp } from './scenarios/start-up.ts';
import { secrets20k, secrets100k } from './scenarios/unused-secrets.ts';

/** In the order in which they run; those with a large store come last whatever this says. */
export const SCENARIOS: readonly Scenario[] = [
  latency,
  latencyDefault,
  startUp,
  batch,
  downtime,
  fanOut1000,
  ...STAKATER.slice(0, 4),
  churn,
  ...STAKATER.slice(4),
  faults,
  failOver,
  admission,
  configs,
  redisAgent,
  fanOut5000,
  idle,
  secrets20k,
  ...MEMORY_AFTER_BURST,
  secrets100k,
];
