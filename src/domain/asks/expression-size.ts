/** What counts how much. */
interface Costs {
  /** Of an expression, beside its parts. */
  readonly program: number;
  readonly choice: number;
  /** Everything behind the first choice counts so many times. */
  readonly behind: number;
  readonly class: number;
  /** Without regard to case. */
  readonly foldedClass: number;
}

const INSTRUCTIONS: Costs = { program: 0, choice: 2, behind: 1, class: 0, foldedClass: 0 };

/**
 * In proportion to memory and time. The smallest expression has 5 KB, and compiles in 50 µs. To match a name takes as long as
 * there are places where it may be: behind a choice these can be all. A class takes as much memory as so many characters,
 * however often it is repeated; without regard to case, also time.
 */
const WEIGHTS: Costs = { program: 100, choice: 14, behind: 20, class: 3, foldedClass: 24 };

/** A class of Unicode takes kilobytes. No name of an object needs one. */
const UNICODE = 1024;
/** It takes 20 ms. */
const FOLDED_UNICODE = 4096;
/** Of each expression: its beginning, its end, and two anchors. */
const FRAME = 4;
/** What the smallest expression weighs. */
export const SMALLEST = FRAME + WEIGHTS.program;
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
const IS_CLASS = /^(?:\[|\\[dDsSwW])/;
const FOLDS = /\(\?[A-Za-z-]*i/;

/**
 * How many instructions an RE2 expression has at most, without compiling it. Where the text is no expression the number means
 * nothing.
 */
export const instructionsIn = (text: string): number => measured(text, INSTRUCTIONS);

/** What an expression takes of the limits of a list and a namespace: about in proportion to its memory and time. */
export const sizeOf = (text: string): number => measured(text, WEIGHTS);

/** One pass over the text. */
function measured(text: string, costs: Costs): number {
  const size = new Size(costs, FOLDS.test(text));
  for (const [token] of text.matchAll(TOKEN)) size.read(token);
  return size.total() + costs.program + FRAME;
}

/** The size of a part, and the size that it has behind a choice. */
interface Part {
  readonly size: number;
  readonly behind: number;
}

const NOTHING: Part = { size: 0, behind: 0 };
const sum = (a: Part, b: Part): Part => ({ size: a.size + b.size, behind: a.behind + b.behind });

/** What stands before an open group. */
interface Outer {
  readonly before: Part;
  readonly hasChoice: boolean;
}

class Size {
  readonly #costs: Costs;
  readonly #folds: boolean;
  readonly #outer: Outer[] = [];
  /** Of the open group: what was read of it before the last item, and that item, which a repetition would repeat. */
  #before = NOTHING;
  #last = NOTHING;
  #hasChoice = false;
  /** Whether a choice is in the last item. */
  #lastHasChoice = false;
  #isBehind = false;
  #classes = 0;

  constructor(costs: Costs, folds: boolean) {
    this.#costs = costs;
    this.#folds = folds;
  }

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
        this.#choose();
        break;
      case '*':
      case '+':
      case '?':
        this.#repeat(1, true);
        break;
      case '{':
        if (token.length > 1) this.#repeat(mostIn(token), /,|^\{0+\}/.test(token));
        else this.#add(1);
        break;
      default:
        if (token.startsWith('\\Q')) this.#quote(token);
        else this.#item(token);
    }
  }

  #item(token: string): void {
    if (IS_CLASS.test(token)) this.#classes += this.#folds ? this.#costs.foldedClass : this.#costs.class;
    if (token.length === 1 || !WIDE.test(token)) this.#add(1);
    else this.#add(this.#folds ? FOLDED_UNICODE : UNICODE);
  }

  #add(instructions: number): void {
    this.#before = sum(this.#before, this.#last);
    this.#last = this.#part(instructions);
    this.#lastHasChoice = false;
  }

  #part(instructions: number): Part {
    const behind = this.#costs.behind * instructions;
    return { size: this.#isBehind ? behind : instructions, behind };
  }

  #choose(): void {
    const { choice } = this.#costs;
    this.#before = sum(this.#before, { size: choice, behind: choice });
    this.#hasChoice = true;
    this.#isBehind = true;
  }

  #open(): void {
    this.#outer.push({ before: sum(this.#before, this.#last), hasChoice: this.#hasChoice });
    this.#before = NOTHING;
    this.#last = NOTHING;
    this.#hasChoice = false;
  }

  #close(): void {
    const { before, hasChoice } = this.#outer.pop() ?? { before: NOTHING, hasChoice: false };
    this.#last = sum(sum(this.#before, this.#last), this.#part(GROUP));
    this.#before = before;
    this.#lastHasChoice = this.#hasChoice;
    this.#hasChoice ||= hasChoice;
  }

  /** In a group that is repeated, everything is behind a choice that is in it. */
  #repeat(times: number, isChoice: boolean): void {
    const { behind, size } = this.#last;
    const once = this.#lastHasChoice ? behind : size;
    const more = isChoice ? this.#costs.choice : 0;
    this.#last = { size: times * (once + more) + 1, behind: times * (behind + more) + 1 };
    if (!isChoice) return;
    this.#lastHasChoice = true;
    this.#hasChoice = true;
    this.#isBehind = true;
  }

  /** A repetition behind it repeats its last character. */
  #quote(token: string): void {
    const { length } = token.replace(/^\\Q/, '').replace(/\\E$/, '');
    if (length > 1) this.#add(length - 1);
    if (length > 0) this.#add(1);
  }

  total(): number {
    const open = this.#outer.reduce((total, { before }) => total + before.size, 0);
    return open + this.#before.size + this.#last.size + this.#classes;
  }
}

/** Of `{2}`, `{2,}` and `{2,5}` the largest number. */
const mostIn = (counts: string): number => Math.max(1, ...counts.slice(1, -1).split(',').map(Number));
