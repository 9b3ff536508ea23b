/** One metric, with everything that the docs say about it. */
export interface Metric<Type extends string, Label extends string> {
  readonly type: Type;
  readonly labels: readonly Label[];
  readonly help: string;
  readonly buckets: readonly number[];
  /** Series that exist from the start, at zero. */
  readonly initial: readonly Readonly<Record<Label, string>>[];
  /** For docs/metrics.md: how it differs from Stakater's metric of the same name. */
  readonly mended: string;
}

/** The metrics of a process, by name. */
export type MetricTable = Readonly<Record<string, Metric<'counter' | 'gauge' | 'histogram', string>>>;

type Extra<Label extends string> = Partial<Pick<Metric<never, Label>, 'initial' | 'mended'>>;

const PLAIN = { buckets: [], initial: [], mended: '' } as const;

export const counter = <const Label extends string>(
  labels: readonly Label[],
  help: string,
  extra: Extra<NoInfer<Label>> = {},
): Metric<'counter', Label> => ({ type: 'counter', labels, help, ...PLAIN, ...extra });

export const gauge = <const Label extends string>(labels: readonly Label[], help: string): Metric<'gauge', Label> => ({
  type: 'gauge',
  labels,
  help,
  ...PLAIN,
});

export const histogram = <const Label extends string>(
  labels: readonly Label[],
  buckets: readonly number[],
  help: string,
  mended = '',
): Metric<'histogram', Label> => ({ type: 'histogram', labels, help, ...PLAIN, buckets, mended });
