const DECIMAL = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
const BINARY = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
const FACTORS: Readonly<Record<string, number>> = { ...DECIMAL, ...BINARY };

/** The number that a Kubernetes quantity like `256Mi`, `1.5G` or `2e3` stands for; undefined if the text is none. */
export function parseQuantity(text: string): number | undefined {
  const [, digits = '', exponent, suffix = ''] =
    /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/.exec(text) ?? [];
  if (digits === '') return undefined;
  return Number(`${digits}${exponent ?? ''}`) * (FACTORS[suffix] ?? 1);
}
