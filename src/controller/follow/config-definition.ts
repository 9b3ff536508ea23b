import { prunedFields } from '../../api/reloader-config/pruned-fields.ts';
import { RELOADER_CONFIGS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { WatchReport } from '../report/watch-report.ts';

export interface ConfigDefinitionDeps {
  readonly client: Pick<KubeClient, 'openApi'>;
  readonly clock: Clock;
  readonly report: Pick<WatchReport, 'pruned'>;
}

// A kind is served a moment before it is described, and until then described as it was before.
const LOOKS_AFTER_MS = [0, 5000, 30_000];

/** What the definition of ReloaderConfigs that is installed leaves of them: an older one has fewer fields than the program. */
export class ConfigDefinition {
  readonly #deps: ConfigDefinitionDeps;
  #pruned: readonly string[] = [];

  constructor(deps: ConfigDefinitionDeps) {
    this.#deps = deps;
  }

  /** Fields that the server drops. */
  get pruned(): readonly string[] {
    return this.#pruned;
  }

  /** Looks at what is installed now, and tells if it lacks something else than before. */
  async read(signal: AbortSignal): Promise<void> {
    for (const afterMs of LOOKS_AFTER_MS) {
      if (afterMs > 0) await pause(this.#deps.clock, afterMs, signal);
      const pruned = signal.aborted ? undefined : await this.#ask();
      if (!pruned || pruned.join() === this.#pruned.join()) continue;
      this.#pruned = pruned;
      if (pruned.length > 0) this.#deps.report.pruned(pruned);
    }
  }

  /** Undefined: not known now. Who may never know works as if nothing were missing. */
  async #ask(): Promise<readonly string[] | undefined> {
    try {
      return prunedFields(await this.#deps.client.openApi(RELOADER_CONFIGS.group, RELOADER_CONFIGS.version));
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      return undefined;
    }
  }
}
