import { createHash } from 'node:crypto';
import type { Data, SourceName } from './objects.ts';

/**
 * Stakater Reloader's mark of a source's data, which it and Attune write into the pod template: worked out here once
 * more, so that a template can be held against what it ought to say.
 */
export function markOf(data: Data): string {
  const text = Object.keys(data)
    .sort()
    .map((key) => `${key}=${data[key]}`)
    .join(';');
  return createHash('sha1').update(text).digest('hex');
}

/** What a template says about a source: undefined where it carries no mark of it, as with other controllers. */
export function markIn(template: string, { kind, name }: SourceName): string | undefined {
  const variable = `STAKATER_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_${kind.toUpperCase()}`;
  return new RegExp(`"name":"${variable}","value":"([0-9a-f]{40})"`).exec(template)?.[1];
}
