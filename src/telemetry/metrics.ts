import type { MetricTable } from './metric.ts';
import { PROCESS_METRICS } from './metric-tables/process.ts';
import { createProcessProbe } from './process-probe.ts';

type NamesOf<Table extends MetricTable, Type> = {
  [Name in keyof Table & string]: Table[Name]['type'] extends Type ? Name : never;
}[keyof Table & string];

type LabelsOf<Table extends MetricTable, Name extends keyof Table> = Readonly<
  Record<Table[Name]['labels'][number], string>
>;

/** Labels may be left out exactly where the metric has none. */
type Increment<Labels> = keyof Labels extends never ? [labels?: Labels, by?: number] : [labels: Labels, by?: number];

/** Takes the names and labels of one table, and no others. */
export interface Metrics<Table extends MetricTable> {
  increment<Name extends NamesOf<Table, 'counter'>>(name: Name, ...rest: Increment<LabelsOf<Table, Name>>): void;
  set<Name extends NamesOf<Table, 'gauge'>>(name: Name, labels: LabelsOf<Table, Name>, value: number): void;
  /** Forgets a gauge with whatever labels it had: for labels whose values pass. */
  reset<Name extends NamesOf<Table, 'gauge'>>(name: Name): void;
  observe<Name extends NamesOf<Table, 'histogram'>>(name: Name, labels: LabelsOf<Table, Name>, seconds: number): void;
  /** Calls `fill` before each rendering: for what is cheaper to look up than to keep. */
  beforeRender(fill: () => void): void;
  /** The text format of Prometheus, version 0.0.4. */
  render(): string;
}

type LabelValues = Readonly<Record<string, string>>;

/** A value, or for a histogram the sum, with how many observations fell into each bucket and beyond the last. */
interface Series {
  /** `a="1",b="2"` */
  readonly labels: string;
  value: number;
  readonly counts: number[];
}

/** A metric and its series so far, by their labels. */
type Family = MetricTable[string] & { readonly name: string; readonly series: Map<string, Series> };

/**
 * A registry of exactly the metrics of the table and those of every process; what is `off` is counted nowhere.
 * prom-client would do, for 13 MB of memory.
 */
export function createMetrics<Table extends MetricTable>(
  table: Table,
  off: readonly (keyof Table)[] = [],
): Metrics<Table> {
  const probe = createProcessProbe();
  const families = new Map<string, Family>();
  const fills: (() => void)[] = [];
  for (const [name, metric] of Object.entries<MetricTable[string]>({ ...table, ...PROCESS_METRICS })) {
    if (off.includes(name)) continue;
    const family = { ...metric, name, series: new Map() };
    families.set(name, family);
    for (const values of metric.labels.length === 0 ? [{}] : metric.initial) seriesOf(family, values);
  }

  const set = (name: string, labels: LabelValues, value: number): void => {
    const series = seriesOf(families.get(name), labels);
    if (series) series.value = value;
  };
  return {
    increment(name, ...rest) {
      const [labels = {}, by = 1] = rest;
      const series = seriesOf(families.get(name), labels);
      if (series) series.value += by;
    },
    set,
    reset: (name) => void families.get(name)?.series.clear(),
    observe(name, labels, seconds) {
      const family = families.get(name);
      const series = seriesOf(family, labels);
      if (!family || !series) return;
      const fitting = family.buckets.findIndex((limit) => seconds <= limit);
      const bucket = fitting < 0 ? family.buckets.length : fitting;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.value += seconds;
    },
    beforeRender: (fill) => void fills.push(fill),
    render() {
      for (const fill of fills) fill();
      for (const [name, value] of Object.entries(probe())) set(name, {}, value);
      return Array.from(families.values(), renderFamily).join('');
    },
  };
}

/** Undefined: this metric is switched off. */
function seriesOf(family: Family | undefined, values: LabelValues): Series | undefined {
  if (!family) return undefined;
  const { labels, buckets } = family;
  const key = labels.map((label) => values[label] ?? '').join('\0');
  const known = family.series.get(key);
  if (known) return known;
  const series: Series = {
    labels: labels.map((label) => `${label}="${escapeLabel(values[label] ?? '')}"`).join(),
    value: 0,
    counts: Array.from({ length: buckets.length + 1 }, () => 0),
  };
  family.series.set(key, series);
  return series;
}

function renderFamily({ name, type, help, buckets, series: family }: Family): string {
  // Like Prometheus' own client: what was never counted is not mentioned.
  if (family.size === 0) return '';
  let text = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  for (const series of family.values()) {
    if (type === 'histogram') text += renderHistogram(name, buckets, series);
    else text += line(name, series.labels, series.value);
  }
  return text;
}

function renderHistogram(name: string, buckets: readonly number[], { labels, counts, value }: Series): string {
  const prefix = labels === '' ? '' : `${labels},`;
  let text = '';
  let total = 0;
  for (const [index, limit] of [...buckets, '+Inf'].entries()) {
    total += counts[index] ?? 0;
    text += line(`${name}_bucket`, `${prefix}le="${limit}"`, total);
  }
  return text + line(`${name}_sum`, labels, value) + line(`${name}_count`, labels, total);
}

const line = (name: string, labels: string, value: number): string =>
  `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`;

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
