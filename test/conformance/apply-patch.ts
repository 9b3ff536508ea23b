import type { JsonOperation } from '../../src/domain/template/json-patch.ts';
import type { Patch } from '../../src/domain/template/patch.ts';

type Node = Record<string, unknown>;

/** What the API server makes of a patch: as much of the three formats as the patches use. */
export function applyPatch(object: unknown, patch: Patch): unknown {
  const copy = structuredClone(object) as Node;
  if (patch.type !== 'json') return merge(copy, patch.body, patch.type === 'strategic');
  for (const operation of patch.body) operate(copy, operation);
  return copy;
}

function merge(target: Node, patch: Readonly<Node>, strategic: boolean): Node {
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) delete target[member];
    else if (strategic && Array.isArray(value)) target[member] = mergeList((target[member] as Node[]) ?? [], value);
    else if (typeof value === 'object' && !Array.isArray(value)) {
      target[member] = merge((target[member] as Node) ?? {}, value as Node, strategic);
    } else target[member] = value;
  }
  return target;
}

function mergeList(target: Node[], patch: readonly Node[]): Node[] {
  let list = [...target];
  for (const entry of patch) {
    const found = list.find((candidate) => candidate['name'] === entry['name']);
    if (entry['$patch'] === 'delete') list = list.filter((candidate) => candidate !== found);
    else if (found === undefined) list.push(merge({}, entry, true));
    else merge(found, entry, true);
  }
  return list;
}

function operate(root: Node, operation: JsonOperation): void {
  const members = operation.path
    .slice(1)
    .split('/')
    .map((member) => member.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = members.pop() ?? '';
  const parent = members.reduce<unknown>((node, member) => (node as Node | undefined)?.[member], root);
  if (typeof parent !== 'object' || parent === null) throw new Error(`${operation.op} ${operation.path}: no parent`);
  const isPast = Array.isArray(parent) && last !== '-' && !(Number(last) <= parent.length);
  if (isPast) throw new Error(`${operation.op} ${operation.path}: past the end`);
  if (operation.op !== 'add' && !(last in parent)) throw new Error(`${operation.op} ${operation.path}: not there`);
  change(parent as Node, last, operation);
}

function change(parent: Node, last: string, { op, path, value }: JsonOperation): void {
  switch (op) {
    case 'test':
      if (JSON.stringify(parent[last]) !== JSON.stringify(value)) throw new Error(`test ${path}: ${parent[last]}`);
      break;
    case 'replace':
      parent[last] = value;
      break;
    case 'add':
      if (Array.isArray(parent)) parent.splice(last === '-' ? parent.length : Number(last), 0, value);
      else parent[last] = value;
      break;
    case 'remove':
      if (Array.isArray(parent)) parent.splice(Number(last), 1);
      else delete parent[last];
      break;
  }
}
