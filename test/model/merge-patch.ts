import type { Json } from './cluster.ts';

/** What a strategic merge patch makes of an object: lists of things with a name are merged by it, others replaced. */
export function mergePatch(target: Json, patch: Json): Json {
  if (Array.isArray(patch))
    return patch.every(isNamed) ? mergeLists(Array.isArray(target) ? target : [], patch) : patch;
  if (!isObject(patch)) return patch;
  const merged: Json = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

const isObject = (value: Json): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const isNamed = (entry: Json): boolean => typeof entry?.name === 'string';

/** What is new comes first, as on the real server. */
function mergeLists(target: Json[], patch: Json[]): Json[] {
  const left = new Map(patch.map((entry) => [entry.name, entry]));
  const merged = target.flatMap((entry) => {
    const change = left.get(entry.name);
    left.delete(entry.name);
    if (change?.$patch === 'delete') return [];
    return [change ? mergePatch(entry, change) : entry];
  });
  const added = [...left.values()].filter((entry) => entry.$patch !== 'delete').map((entry) => mergePatch({}, entry));
  return [...added, ...merged];
}
