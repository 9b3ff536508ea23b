/** Choices keep several places of an expression alive at once, and matching a name takes as long as there are places. */
const CHOICE = 8;
/** A class of Unicode takes kilobytes and, if case does not count, milliseconds. No name of an object needs one. */
const UNICODE = 1024;
/** Of each expression: its beginning, its end, and two anchors. */
const FRAME = 4;
/** Of each group: where it begins and ends, and that it can be empty. */
const GROUP = 3;

const UNICODE_CLASS = String.raw`\\[pP](?:\{\^?\w*\}|[^])`;
const ESCAPE = String.raw`(?:${UNICODE_CLASS}|\\x\{[0-9A-Fa-f]*\}|\\x[0-9A-Fa-f]{2}|\\[0-7]{1,3}|\\[^])`;
const CHARACTER = `(?:${ESCAPE}|[^])`;
/** One item of a class: a set that has a name, a character, or a range of characters. */
const ITEM = String.raw`(?:\[:\^?\w+:\]|${UNICODE_CLASS}|\\[dDsSwW]|${CHARACTER}(?:-(?!\])${CHARACTER})?)`;
/** What an expression is made of. Every character is in one of these, so that nothing is read twice. */
const TOKEN = new RegExp(
  [
    // Flags are no group: what follows them repeats what stands before them.
    String.raw`\(\?[A-Za-z-]+\)`,
    String.raw`\(\??`,
    String.raw`\{\d{1,8}(?:,\d{0,8})?\}`,
    // The first item may be the bracket that would else end the class.
    String.raw`\[\^?${ITEM}(?:(?!\])${ITEM})*\]?`,
    String.raw`\\Q[^]*?(?:\\E|$)`,
    ESCAPE,
    '[^]',
  ].join('|'),
  'gu',
);
const WIDE = /\\[pPx]|[^\0-\x7f]/;

/**
 * How large an RE2 expression is, without compiling it: never less than the number of instructions that it is compiled to.
 *
 * One pass over the text. Where it is no expression the size means nothing.
 */
export function sizeOf(text: string): number {
  const size = new Size();
  for (const [token] of text.matchAll(TOKEN)) size.read(token);
  return size.total() + FRAME;
}

class Size {
  /** The sizes of what stands before each open group. */
  readonly #outer: number[] = [];
  #sum = 0;
  /** The size of what a repetition would repeat. */
  #last = 0;

  read(token: string): void {
    switch (token[0]) {
      case '(':
        if (!token.endsWith(')')) this.#open();
        break;
      case ')':
        this.#close();
        break;
      case '|':
        this.#add(0);
        this.#sum += CHOICE;
        break;
      case '*':
      case '+':
      case '?':
        this.#repeat(1, true);
        break;
      case '{':
        if (token.length > 1) this.#repeat(mostIn(token), token.includes(','));
        else this.#add(1);
        break;
      default:
        if (token.startsWith('\\Q')) this.#quote(token);
        else this.#add(token.length > 1 && WIDE.test(token) ? UNICODE : 1);
    }
  }

  #add(size: number): void {
    this.#sum += this.#last;
    this.#last = size;
  }

  #open(): void {
    this.#outer.push(this.#sum + this.#last);
    this.#sum = 0;
    this.#last = 0;
  }

  #close(): void {
    this.#last += this.#sum + GROUP;
    this.#sum = this.#outer.pop() ?? 0;
  }

  #repeat(times: number, isChoice: boolean): void {
    this.#last = times * (this.#last + (isChoice ? CHOICE : 0)) + 1;
  }

  /** A repetition behind it repeats its last character. */
  #quote(token: string): void {
    const { length } = token.replace(/^\\Q/, '').replace(/\\E$/, '');
    if (length > 1) this.#add(length - 1);
    if (length > 0) this.#add(1);
  }

  total(): number {
    return this.#outer.reduce((total, size) => total + size, this.#sum + this.#last);
  }
}

/** Of `{2}`, `{2,}` and `{2,5}` the largest number. */
const mostIn = (counts: string): number => Math.max(1, ...counts.slice(1, -1).split(',').map(Number));
