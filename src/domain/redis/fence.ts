import { ALL_INSTANCES } from '../../api/redis-cluster/annotations.ts';

/** Unreadable: what was decided last stays. */
export type Fence = 'fenced' | 'free' | 'unreadable';

/** What the annotation says about a pod. */
export function fenceOf(annotation: string | undefined, pod: string): Fence {
  if (annotation === undefined || annotation.trim() === '') return 'free';
  const names = parsed(annotation);
  if (!names) return 'unreadable';
  return names.includes(pod) || names.includes(ALL_INSTANCES) ? 'fenced' : 'free';
}

function parsed(annotation: string): readonly string[] | undefined {
  try {
    const names: unknown = JSON.parse(annotation);
    if (names === null) return [];
    return Array.isArray(names) && names.every((name) => typeof name === 'string') ? names : undefined;
  } catch {
    return undefined;
  }
}
