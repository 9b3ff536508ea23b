import type { Scenario } from './scenario.ts';
import { fanOut1000, fanOut5000 } from './scenarios/fan-out.ts';
import { latency, latencyDefault } from './scenarios/latency.ts';
import { secrets20k, secrets100k } from './scenarios/pile.ts';
import { startUp } from './scenarios/start-up.ts';

export const SCENARIOS: readonly Scenario[] = [
  latency,
  latencyDefault,
  startUp,
  fanOut1000,
  fanOut5000,
  secrets20k,
  secrets100k,
];
