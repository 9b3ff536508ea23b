/** An open connection, as far as it matters who has to go. */
export interface Connection {
  readonly client: string;
  /** Address and port of the other side. TLS wraps a socket in another one, and both have these. */
  readonly place: string;
  close(): void;
}

/**
 * The open connections, from the first packet on. At the limit a new one takes the place of the oldest idle one; those
 * that never sent a valid review go before all others. One client has at most half of the places, and makes room for its
 * new connections among its own.
 */
export class Connections {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #all = new Map<string, Connection>();
  readonly #countOf = new Map<string, number>();
  readonly #proven = new Set<Connection>();
  /** How many requests. Two: the API server sends the next one when it has the answer, which may be before we hear that. */
  readonly #underWay = new Map<Connection, number>();
  /** Each in the order in which they became idle. */
  readonly #idleUnproven = new Set<Connection>();
  readonly #idleProven = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
    this.#mostOfOne = Math.max(1, Math.floor(most / 2));
  }

  /** Closes an idle connection if there are too many; or the new one, if no other is idle. */
  opened(connection: Connection): void {
    this.#all.set(connection.place, connection);
    this.#count(connection, 1);
    const isOverHalf = (this.#countOf.get(connection.client) ?? 0) > this.#mostOfOne;
    if (isOverHalf || this.#all.size > this.#most) {
      const mayGo = ({ client }: Connection): boolean => !isOverHalf || client === connection.client;
      this.#drop(first(this.#idleUnproven, mayGo) ?? first(this.#idleProven, mayGo) ?? connection);
    }
    if (this.#isOpen(connection)) this.#idleUnproven.add(connection);
  }

  /** A request has come. Undefined: the connection is closed. */
  began(place: string): Connection | undefined {
    const connection = this.#all.get(place);
    if (!connection) return undefined;
    for (const idle of [this.#idleUnproven, this.#idleProven]) idle.delete(connection);
    this.#underWay.set(connection, (this.#underWay.get(connection) ?? 0) + 1);
    return connection;
  }

  /** Its request was a valid review. */
  proved(connection: Connection): void {
    if (this.#isOpen(connection)) this.#proven.add(connection);
  }

  /** A request of it is over: its answer was sent, or the connection broke. */
  ended(connection: Connection): void {
    if (!this.#isOpen(connection)) return;
    const left = (this.#underWay.get(connection) ?? 1) - 1;
    if (left > 0) return void this.#underWay.set(connection, left);
    this.#underWay.delete(connection);
    const idle = this.#proven.has(connection) ? this.#idleProven : this.#idleUnproven;
    idle.add(connection);
  }

  closed(connection: Connection): void {
    if (!this.#isOpen(connection)) return;
    this.#all.delete(connection.place);
    this.#count(connection, -1);
    for (const part of [this.#proven, this.#underWay, this.#idleUnproven, this.#idleProven]) part.delete(connection);
  }

  closeAll(): void {
    for (const connection of [...this.#all.values()]) this.#drop(connection);
  }

  #isOpen(connection: Connection): boolean {
    return this.#all.get(connection.place) === connection;
  }

  #drop(connection: Connection): void {
    this.closed(connection);
    connection.close();
  }

  #count({ client }: Connection, change: number): void {
    const count = (this.#countOf.get(client) ?? 0) + change;
    if (count > 0) this.#countOf.set(client, count);
    else this.#countOf.delete(client);
  }
}

function first(
  connections: ReadonlySet<Connection>,
  isWanted: (connection: Connection) => boolean,
): Connection | undefined {
  for (const each of connections) if (isWanted(each)) return each;
  return undefined;
}
