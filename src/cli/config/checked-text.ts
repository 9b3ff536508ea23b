import type { Layout } from '../terminal/layout.ts';
import { type Paint, painter, table } from '../terminal/table.ts';
import type { Checked } from './check-object.ts';

/** What was found, for people. */
export function checkedText(found: readonly Checked[], page: Layout): string {
  const paint = painter(page);
  const blocks = found.map((each) => {
    const rows = [
      ...each.problems.map(({ path, message }) => [path || 'file', message]),
      ...each.notes.map((note) => [paint('dim', 'note'), paint('dim', note)]),
    ];
    return `${headline(each, paint)}\n${table(rows, page, 4)}`;
  });
  const none = found.some(({ checked }) => checked) ? '' : 'There is no ReloaderConfig here.\n';
  return `${blocks.join('')}${none}`;
}

function headline({ file, kind, namespace, name, checked, problems }: Checked, paint: Paint): string {
  const where = namespace === undefined ? '' : `${namespace}/`;
  const title = kind === undefined ? file : `${file}: ${kind} ${where}${name}`;
  if (problems.length > 0) return `${paint('red', '✗')} ${title}`;
  return checked ? `${paint('green', '✓')} ${title}` : paint('dim', `- ${title} is of another kind: passed over`);
}
