import { StateFile } from '../../../state/state-file.ts';

/** A parameter that is set while Redis runs. */
export interface LiveEntry {
  /** As Redis had it before the first change; undefined: it did not know it. */
  readonly before?: string | undefined;
  /** What Redis has accepted, as it is written. Undefined: a first change is under way, or was cut off. */
  readonly text?: string | undefined;
  /** What Redis made of the text. */
  readonly canonical?: string | undefined;
}

/** A parameter, or a line, that counts from a start on, and with which a server has started. */
export interface StartEntry {
  readonly label: string;
  readonly text: string;
  /** What such a server made of it; undefined: it cannot be asked for. */
  readonly canonical?: string | undefined;
  /** What a server without it has. */
  readonly before?: string | undefined;
  /** The Redis that it was tried with. */
  readonly version: string;
}

interface Kept {
  readonly live: readonly (readonly [name: string, entry: LiveEntry])[];
  readonly start: readonly (readonly [name: string, entry: StartEntry])[];
  readonly told: readonly (readonly [label: string, what: string])[];
}

/** All that Redis has accepted, by name, and what people were told: it survives the end of the agent. */
export class AcceptedConfig {
  readonly live: Map<string, LiveEntry>;
  readonly start: Map<string, StartEntry>;
  /** Events that were sent: by key, what was told about it. */
  readonly told: Map<string, string>;
  readonly #file: StateFile<Kept>;

  constructor(folder: string) {
    this.#file = new StateFile<Kept>(folder, 'config', { live: [], start: [], told: [] });
    const { live, start, told } = this.#file.value;
    this.live = new Map(entriesOf(live));
    this.start = new Map(entriesOf(start));
    this.told = new Map(entriesOf(told));
  }

  get isEmpty(): boolean {
    return this.live.size + this.start.size + this.told.size === 0;
  }

  /** The accepted text of a parameter or line: the one for the next start. */
  textOf(name: string): string | undefined {
    return this.live.get(name)?.text ?? this.start.get(name)?.text;
  }

  async save(): Promise<void> {
    await this.#file.save({ live: [...this.live], start: [...this.start], told: [...this.told] });
  }
}

/** What is of another shape counts as missing. */
const entriesOf = <T extends readonly [string, unknown]>(list: readonly T[] | undefined): readonly T[] =>
  Array.isArray(list) ? list.filter((entry) => typeof entry?.[0] === 'string' && Boolean(entry[1])) : [];
