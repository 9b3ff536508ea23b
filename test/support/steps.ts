type Method = (this: unknown, ...given: unknown[]) => unknown;

/**
 * How many steps some work takes: elements that methods of lists look at, and characters that regular expressions read. A
 * count, unlike a time, is the same on every machine. Plain loops are not seen,
 * nor what RE2 does: `expressionCosts` counts that. Work that takes more than `most` is broken off.
 */
export function stepsOf(work: () => void, most = Number.POSITIVE_INFINITY): number {
  let steps = 0;
  const take = (count: number): void => {
    steps += count;
    if (steps > most) throw new Error(`more than ${most} steps`);
  };
  const undo: (() => void)[] = [];
  const replace = (on: object, name: string, by: (original: Method) => Method): void => {
    const original = Reflect.get(on, name) as Method;
    Reflect.set(on, name, by(original));
    undo.push(() => Reflect.set(on, name, original));
  };
  for (const name of ['some', 'every', 'find', 'findIndex', 'filter', 'map', 'flatMap', 'reduce']) {
    replace(Array.prototype, name, (original) => {
      return function counted(callback, ...rest) {
        const counting = (...given: unknown[]): unknown => {
          take(1);
          return (callback as (...all: unknown[]) => unknown)(...given);
        };
        return original.call(this, counting, ...rest);
      };
    });
  }
  for (const name of ['includes', 'indexOf', 'join', 'slice', 'toSorted']) {
    replace(Array.prototype, name, (original) => {
      return function counted(...given) {
        take((this as readonly unknown[]).length);
        return original.apply(this, given);
      };
    });
  }
  // Whatever a text does with a regular expression ends here.
  replace(RegExp.prototype, 'exec', (original) => {
    return function counted(text) {
      const { lastIndex, sticky, global } = this as RegExp;
      const from = sticky || global ? lastIndex : 0;
      const found = original.call(this, text) as RegExpExecArray | null;
      const end = found === null ? String(text).length : found.index + found[0].length;
      take(1 + (found === null && sticky ? 0 : end - from));
      return found;
    };
  });
  try {
    work();
  } finally {
    for (const each of undo) each();
  }
  return steps;
}
