import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SPEC as REDIS_SPEC } from '../src/api/redis-cluster/spec-fields.ts';
import { STATUS as REDIS_STATUS } from '../src/api/redis-cluster/status-fields.ts';
import { SPEC } from '../src/api/reloader-config/spec-fields.ts';
import { STATUS } from '../src/api/reloader-config/status-fields.ts';
import { type Field, rowsOf as fieldsOf } from '../src/api/schema/field.ts';
import { AGENT_OPTIONS } from '../src/config/options/agent.ts';
import { CONTROLLER_OPTIONS } from '../src/config/options/controller.ts';
import { AGENT_GROUPS, GROUPS, type Option } from '../src/config/options/option.ts';
import { type OptionTable, rowsOf } from '../src/config/options/option-table.ts';
import type { MetricTable } from '../src/telemetry/metric.ts';
import { ADMISSION_METRICS } from '../src/telemetry/metric-tables/admission.ts';
import { CONTROLLER_METRICS } from '../src/telemetry/metric-tables/controller.ts';
import { PROCESS_METRICS } from '../src/telemetry/metric-tables/process.ts';
import { REDIS_AGENT_METRICS } from '../src/telemetry/metric-tables/redis-agent.ts';

/**
 * The lists in these pages are those of the program. After a change of a table, `vitest run test/docs.test.ts -u`
 * brings the pages up to date; what stands outside the marks is left as it is.
 */
test.each([
  ['flags.md', () => options(CONTROLLER_OPTIONS, GROUPS)],
  ['redis.md', () => options(AGENT_OPTIONS, AGENT_GROUPS, '###')],
  ['reloaderconfig.md', () => `${fields('spec', SPEC)}\n${fields('status', STATUS)}`],
  ['rediscluster.md', () => `${fields('spec', REDIS_SPEC)}\n${fields('status', REDIS_STATUS)}`],
  [
    'metrics.md',
    () =>
      [
        metrics('', { ...CONTROLLER_METRICS, ...ADMISSION_METRICS, ...PROCESS_METRICS }),
        metrics('## Agent for Redis', REDIS_AGENT_METRICS),
      ].join('\n'),
  ],
])('docs/%s lists exactly what there is', async (name, render) => {
  const path = join(import.meta.dirname, '../docs', name);
  const [before, after] = readFileSync(path, 'utf8').split(/(?<=<!-- list -->\n)[\s\S]*(?=<!-- end of list -->\n)/);
  expect(after, `docs/${name} has lost its marks`).toBeDefined();
  await expect(`${before}\n${render()}\n${after}`).toMatchFileSnapshot(path);
});

function options(listed: OptionTable, groups: Readonly<Record<string, string>>, level = '##'): string {
  const rows = rowsOf(listed).map(([, option]) => option);
  const sections = Object.entries(groups).map(([group, title]) =>
    table(
      `${level} ${title}`,
      ['Option', 'Type', 'Default', 'Meaning'],
      rows
        .filter((option) => option.group === group)
        .map((option) => [nameOf(option), option.type, code(option.fallback), option.doc]),
    ),
  );
  return sections.join('\n');
}

const nameOf = ({ flag, env }: Option<unknown>): string =>
  [flag === undefined ? '' : code(`--${flag}`), env === undefined ? '' : code(env)].filter(Boolean).join(', ');

function metrics(title: string, listed: MetricTable): string {
  const rows = Object.entries(listed).map(([name, { type, labels, buckets, help, mended }]) => [
    code(name),
    type,
    labels.map(code).join(', '),
    [help, buckets.length > 0 ? `Buckets: ${buckets.join(' ')}.` : '', mended].filter(Boolean).join(' '),
  ]);
  return table(title, ['Metric', 'Type', 'Labels', 'Meaning'], rows);
}

function fields(name: string, field: Field): string {
  const rows = fieldsOf(name, field)
    .slice(1)
    .map(({ path, field: each }) => [
      code(path),
      typeText(each),
      `${each.isNew ? '**New.** ' : ''}${each.description}${limitsText(each)}`,
    ]);
  return table(`### ${name}`, ['Field', 'Type', 'Meaning'], rows);
}

function typeText(field: Field): string {
  if (field.type === 'array') return `list of ${typeText(field.items)}`;
  if (field.type === 'map') return `map of ${typeText(field.values)}`;
  return field.type === 'string' ? (field.format ?? field.type) : field.type;
}

/** What the server accepts beyond the type, and what it sets. */
function limitsText(field: Field): string {
  const words = 'enum' in field ? ` One of ${field.enum?.map(code).join(', ')}.` : '';
  const least = 'minimum' in field ? ` At least ${field.minimum}.` : '';
  const most = 'maximum' in field ? ` At most ${field.maximum}.` : '';
  const fallback = 'default' in field ? ` Default: ${code(String(field.default))}.` : '';
  return words + least + most + fallback;
}

function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escapeCell).join(' | ')} |\n`);
  return `${title === '' ? '' : `${title}\n\n`}${lines.join('')}`;
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);
const escapeCell = (text: string): string => text.replaceAll('|', '\\|');
