import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const pages = globSync(['*.md', 'docs/**/*.md', 'charts/*/*.md'], { cwd: root });

/** Links to files of this repository; addresses and anchors within a page are others' business. */
function linksIn(text: string): readonly string[] {
  const prose = text.replace(/```[\s\S]*?```/g, '');
  return Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link.replace(/#.*$/, '')).filter(
    (link) => link !== '' && !/^[a-z]+:/.test(link),
  );
}

test.each(pages)('every link of %s leads somewhere', (page) => {
  const links = linksIn(readFileSync(join(root, page), 'utf8'));
  expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
});
