import { createHash } from 'node:crypto';
import type { KeyStatus } from '../../../../domain/redis/cluster-view.ts';
import { UNDECIDED } from '../../../../domain/redis/config/danger.ts';
import { shortened } from '../../../../domain/redis/config/refusal.ts';
import type { PrepareContext } from '../step.ts';
import type { AcceptedConfig } from './accepted-config.ts';

/** Of which key something is found. */
export interface Subject {
  readonly label: string;
  readonly path: string;
  readonly text: string;
}

interface Finding extends Subject {
  readonly status: KeyStatus;
}

const LONGEST_EVENT = 900;

/** What a pass finds out about each key: for the status, and as Events where it is new. */
export class Findings {
  readonly #findings: Finding[] = [];

  add({ label, path, text }: Subject, status: KeyStatus): void {
    this.#findings.push({ label, path, text, status });
  }

  /** One entry for each key. Where two fields set one parameter both are told. */
  get keys(): Readonly<Record<string, KeyStatus>> {
    const keys = new Map<string, KeyStatus>();
    for (const { label, status } of this.#findings) {
      const other = keys.get(label);
      keys.set(label, other ? both(other, status) : status);
    }
    return Object.fromEntries([...keys].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Sends an Event for whatever nobody was told yet. True: what was told has changed, and is to be saved. */
  tell(accepted: AcceptedConfig, context: PrepareContext): boolean {
    let isNew = false;
    const now = new Map<string, Finding>(
      this.#findings
        .filter(({ status }) => status.state !== 'Applied' && status.message !== UNDECIDED)
        .map((finding) => [`${finding.path}\n${finding.label}`, finding]),
    );
    for (const key of accepted.told.keys()) if (!now.has(key)) isNew = accepted.told.delete(key);
    for (const [key, finding] of now) {
      const what = digestOf(finding);
      if (accepted.told.get(key) === what) continue;
      const { path, status } = finding;
      const isRefused = status.state === 'Refused';
      const message = `Pod ${context.settings.podName}: ${path} ${isRefused ? 'is refused' : 'needs a restart'}: ${status.message ?? ''}`;
      context.event(
        isRefused ? 'Warning' : 'Normal',
        isRefused ? 'ConfigRefused' : 'RestartNeeded',
        shortened(message, LONGEST_EVENT),
      );
      accepted.told.set(key, what);
      isNew = true;
    }
    return isNew;
  }
}

/** Stands for a state and a text: the text may be long, and is not for every file. */
const digestOf = ({ status, text }: Finding): string =>
  createHash('sha256').update(`${status.state}\n${text}`).digest('hex').slice(0, 16);

const RANK = { Refused: 2, RestartNeeded: 1, Applied: 0 };

function both(one: KeyStatus, other: KeyStatus): KeyStatus {
  const [worse, better] = RANK[other.state] > RANK[one.state] ? [other, one] : [one, other];
  const message = [worse.message, better.message].filter((text) => text !== undefined).join('; ');
  return { state: worse.state, value: worse.value ?? better.value, ...(message === '' ? {} : { message }) };
}
