/** The right to go on. Given back in any case, also while it is waited for. */
export interface Turn {
  readonly isGranted: boolean;
  giveBack(): void;
}

interface WaitingTurn {
  isGranted: boolean;
  readonly granted: () => void;
}

/** Lets so many go on at once, in the order in which they ask. */
export class Turns {
  #free: number;
  readonly #waiting = new Set<WaitingTurn>();

  constructor(count: number) {
    this.#free = count;
  }

  /** `granted` is called when it is granted, unless it is at once. */
  ask(granted: () => void): Turn {
    const turn: WaitingTurn = { isGranted: this.#free > 0, granted };
    if (turn.isGranted) this.#free -= 1;
    else this.#waiting.add(turn);
    return {
      get isGranted() {
        return turn.isGranted;
      },
      giveBack: () => this.#giveBack(turn),
    };
  }

  #giveBack(turn: WaitingTurn): void {
    if (this.#waiting.delete(turn) || !turn.isGranted) return;
    turn.isGranted = false;
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next.isGranted = true;
    next.granted();
  }
}
