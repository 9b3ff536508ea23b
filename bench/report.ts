import { figure, type Growth, growthOf, isFloor, type Result } from './results.ts';
import { targetResults } from './targets.ts';

/** The results as people read them. `about` says where and how they were taken. */
export function report(results: readonly Result[], about: readonly string[]): string {
  const scenarios = [...new Set(results.map(({ scenario }) => scenario))];
  return [
    '# Benchmark',
    '',
    ...about.map((line) => `- ${line}`),
    '',
    ...targetSection(results),
    ...growthSection(growthOf(results)),
    ...scenarios.flatMap((scenario) => scenarioSection(results, scenario)),
    ...callSection(results),
  ].join('\n');
}

function targetSection(results: readonly Result[]): string[] {
  const rows = targetResults(results).map(({ what, limit, measured, floor, met }) => [
    what,
    limit,
    number(measured),
    floor === undefined ? '–' : `${number(floor)} (${ratio(measured, floor)})`,
    met ? 'yes' : '**no**',
  ]);
  return rows.length === 0 ? [] : ['## Targets', '', ...table(['', 'limit', 'measured', 'floor', 'met'], rows)];
}

function growthSection(growth: readonly Growth[]): string[] {
  const rows = growth.map(({ scenario, contender, figure: name, points, slope }) => [
    scenario,
    contender,
    name,
    points.map(({ x, y }) => `${x}: ${number(y)}`).join(', '),
    perOne(name, slope),
  ]);
  if (rows.length === 0) return [];
  return ['## Growth', '', ...table(['scenario', 'contender', 'cost', 'at sizes', 'for one more'], rows)];
}

function perOne(name: string, slope: number): string {
  if (name.endsWith(' MB')) return `${(slope * 1e6).toFixed(0)} bytes`;
  return `${(slope * 1000).toFixed(2)} µs`;
}

/** One table for each size: figures down, contenders across, and how many times the floor and each peer ours is. */
function scenarioSection(all: readonly Result[], scenario: string): string[] {
  const here = all.filter((result) => result.scenario === scenario);
  const sizes = [...new Set(here.map(({ size }) => size))];
  return sizes.flatMap((size) => {
    const results = here.filter((result) => result.size === size);
    const others = results.filter((result) => !isFloor(result) && result.contender !== 'attune');
    const peers = [...new Set(others.map(({ contender }) => contender))];
    const floor = results.some(isFloor) ? ['floor', '÷ floor'] : [];
    const header = ['', 'attune', ...floor, ...peers.flatMap((peer) => [peer, `÷ ${peer}`])];
    const names = [...new Set(results.flatMap(({ figures }) => Object.keys(figures)))];
    const rows = names.map((name) => {
      const of = (contender: string) => figure(results, { scenario, contender }, name);
      const ours = of('attune');
      const compared = [...(floor.length > 0 ? ['floor'] : []), ...peers];
      return [name, number(ours), ...compared.flatMap((other) => [number(of(other)), ratio(ours, of(other))])];
    });
    const notes = results.flatMap(({ contender, note }) => (note ? [`${contender}: ${note}. `] : [])).join('');
    const load = Math.max(...results.map((result) => result.load));
    const title = `### ${scenario}${size === undefined ? '' : `, ${size}`}`;
    return [title, '', ...table(header, rows), `${notes}Load of the machine before: ${load.toFixed(2)}.`, ''];
  });
}

function callSection(results: readonly Result[]): string[] {
  const rows = results.flatMap(({ scenario, contender, size, calls }) => {
    const made = Object.entries(calls ?? {}).filter(([call]) => !call.startsWith('get /'));
    if (made.length === 0) return [];
    const text = made.map(([call, count]) => `${count} ${call}`).join(', ');
    return [[`${scenario}${size === undefined ? '' : `, ${size}`}`, contender, text]];
  });
  return rows.length === 0 ? [] : ['## Calls', '', ...table(['scenario', 'contender', 'by the audit log'], rows)];
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line), ''];
}

function number(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

function ratio(ours: number | undefined, other: number | undefined): string {
  if (ours === undefined || other === undefined || other === 0 || Number.isNaN(ours / other)) return '–';
  const value = ours / other;
  return `${value >= 0.095 ? value.toFixed(2) : value.toPrecision(1)}×`;
}
