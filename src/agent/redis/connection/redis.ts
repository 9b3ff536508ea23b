/** What is sent to a Redis, and how it answers. */
export interface Redis {
  /** Redis refuses with {@link RedisRefusal}; whatever else goes wrong is {@link RedisUnreachable}. */
  send(...words: readonly (string | Buffer)[]): Promise<Reply>;
}

export type Reply = string | number | null | readonly Reply[];

/** Redis has answered with an error; the message is its own words. */
export class RedisRefusal extends Error {
  override readonly name = 'RedisRefusal';
  /** The first word, like NOAUTH, LOADING or ERR. */
  readonly code: string;

  constructor(words: string) {
    super(words);
    this.code = words.split(' ', 1)[0] ?? '';
  }
}

/** There is no answer: nobody listens, the connection broke, or Redis is silent for too long. */
export class RedisUnreachable extends Error {
  override readonly name = 'RedisUnreachable';
  /** Redis has certainly not carried out what was sent: whoever likes may send it again. */
  readonly undelivered: boolean;

  constructor(message: string, { undelivered = false, ...options }: ErrorOptions & { undelivered?: boolean } = {}) {
    super(message, options);
    this.undelivered = undelivered;
  }
}

/** A user and a password to try; without a password nothing is sent, as for a Redis that asks for none. */
export interface Credential {
  readonly user: string;
  readonly password: string | undefined;
}
