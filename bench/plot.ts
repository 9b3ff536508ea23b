import type { Point } from './statistics.ts';

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Axis {
  readonly label: string;
  readonly scale: 'linear' | 'log';
  /** How a value of this axis is written. */
  readonly format?: (value: number) => string;
}

export interface Plot {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Dots at the points: where they are few, they are what was measured. */
  readonly dots?: boolean;
}

const WIDTH = 640;
const HEIGHT = 380;
const LEFT = 70;
const RIGHT = 130;
const TOP = 44;
const BOTTOM = 52;
// Told apart by people who see colours differently, and by lightness on paper.
const COLOURS = ['#0072b2', '#888888', '#d55e00', '#009e73', '#cc79a7', '#5d4037'];

/** Plots one below the other in one picture. */
export function svg(plots: readonly Plot[]): string {
  const height = plots.length * HEIGHT;
  const panels = plots.map((plot, index) => `<g transform="translate(0 ${index * HEIGHT})">${panel(plot)}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${panels.join('\n')}
</svg>
`;
}

interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

function panel({ title, x, y, series, dots }: Plot): string {
  const all = series.flatMap(({ points }) => points);
  const across = scale(
    x,
    all.map((point) => point.x),
    [LEFT, WIDTH - RIGHT],
  );
  const up = scale(
    y,
    all.map((point) => point.y),
    [HEIGHT - BOTTOM, TOP],
  );
  const parts = [
    text(LEFT, 24, title, 'font-size="15" font-weight="bold"'),
    ...across.ticks.map((tick) => {
      const at = round(across.at(tick));
      const grid = `<line x1="${at}" x2="${at}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#e4e4e4"/>`;
      return grid + text(at, HEIGHT - BOTTOM + 18, written(x, tick), 'text-anchor="middle" fill="#444"');
    }),
    ...up.ticks.map((tick) => {
      const at = round(up.at(tick));
      const grid = `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#e4e4e4"/>`;
      return grid + text(LEFT - 8, at + 4, written(y, tick), 'text-anchor="end" fill="#444"');
    }),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x.label, 'text-anchor="middle" fill="#222"'),
    text(
      16,
      (TOP + HEIGHT - BOTTOM) / 2,
      y.label,
      `text-anchor="middle" fill="#222" transform="rotate(-90 16 ${(TOP + HEIGHT - BOTTOM) / 2})"`,
    ),
    ...series.map((one, index) => line(one, colour(index), { across, up, dots: dots ?? false })),
    ...names(series, up),
  ];
  return parts.join('\n');
}

const colour = (index: number): string => COLOURS[index % COLOURS.length] ?? '#000';

function line({ points }: Series, stroke: string, on: { across: Scale; up: Scale; dots: boolean }): string {
  const places = points.map(({ x, y }) => [round(on.across.at(x)), round(on.up.at(y))] as const);
  const path = `<polyline fill="none" stroke="${stroke}" stroke-width="2.2" points="${places.map((at) => at.join(',')).join(' ')}"/>`;
  const marks = on.dots ? places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3.5" fill="${stroke}"/>`) : [];
  return path + marks.join('');
}

const LINE_HEIGHT = 16;

/** Each name beside the end of its line, moved where two would cover each other. */
function names(series: readonly Series[], up: Scale): string[] {
  const wanted = series
    .map(({ name, points }, index) => ({ name, index, at: up.at(points.at(-1)?.y ?? 0) }))
    .sort((a, b) => a.at - b.at);
  let free = TOP;
  return wanted.map(({ name, index, at }) => {
    const y = Math.max(at, free);
    free = y + LINE_HEIGHT;
    return text(WIDTH - RIGHT + 8, round(y + 4), name, `fill="${colour(index)}" font-weight="bold"`);
  });
}

function scale({ scale: kind }: Axis, values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const ticks = kind === 'log' ? logTicks(values) : linearTicks(Math.max(...values, 0));
  const first = ticks[0] ?? 0;
  const last = ticks.at(-1) ?? 1;
  const measure = kind === 'log' ? Math.log : (value: number) => value;
  const span = measure(last) - measure(first) || 1;
  return { ticks, at: (value) => from + ((measure(value) - measure(first)) / span) * (to - from) };
}

/** From zero, in steps of 1, 2 or 5 times a power of ten. */
export function linearTicks(most: number): number[] {
  const rough = (most || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const count = Math.ceil(most / step) || 1;
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** 1, 2 and 5 times powers of ten, from at or below the least to at or above the greatest. */
export function logTicks(values: readonly number[]): number[] {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const ticks: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(least)); ; power *= 10) {
    for (const factor of [1, 2, 5]) {
      const tick = Number((factor * power).toPrecision(12));
      ticks.push(tick);
      if (tick >= most) {
        const begin = ticks.findLastIndex((one) => one <= least);
        return ticks.slice(Math.max(0, begin));
      }
    }
  }
}

function written({ format }: Axis, value: number): string {
  return format ? format(value) : String(value);
}

function text(x: number, y: number, words: string, attributes: string): string {
  const safe = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x}" y="${y}" ${attributes}>${safe}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
