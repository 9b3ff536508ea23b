import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Example {
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/** The ReloaderConfigs that docs/reloaderconfig.md shows. */
export function configExamples(): readonly Example[] {
  const page = readFileSync(new URL('../../docs/reloaderconfig.md', import.meta.url), 'utf8');
  return Array.from(page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm), ([, text = '']) => parse(text) as Example);
}
