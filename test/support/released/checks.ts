/**
 * How the released 0.1.0 reads a ledger, copied from it and not to be changed: `helm rollback` and replicas of both versions
 * need that what we write passes these checks. Undefined: it would take the text for damaged, or for that of another.
 */
type Fields = Readonly<Record<string, unknown>>;

export function recordAsReleased(text: string | undefined, uid: string, key: string): Fields | undefined {
  const record = parsed(text);
  return record && isRecord(record) && record['uid'] === uid && record['key'] === key ? record : undefined;
}

export function shardAsReleased(text: string | undefined): Fields | undefined {
  const content = parsed(text);
  const isOurs = content?.['v'] === 1 && typeof content['key'] === 'string' && typeof content['alive'] === 'number';
  return isOurs && typeof content['workloads'] === 'object' ? content : undefined;
}

/** Source `name` of the workload's own namespace, as 0.1.0 looks it up. */
export const idAsReleased = (kind: string, name: string): string => `${kind}/${name}`;

function parsed(text: string | undefined): Fields | undefined {
  try {
    return JSON.parse(text ?? '') as Fields;
  } catch {
    return undefined;
  }
}

function isRecord({ uid, seq, key, template, sources, looks }: Fields): boolean {
  return (
    typeof uid === 'string' &&
    Number.isSafeInteger(seq) &&
    typeof key === 'string' &&
    typeof template === 'string' &&
    typeof sources === 'object' &&
    sources !== null &&
    Object.values(sources).every((entry) => typeof entry === 'string') &&
    isLooks(looks)
  );
}

function isLooks(looks: unknown): boolean {
  if (looks === undefined) return true;
  return (
    Array.isArray(looks) &&
    looks.every((look) => Array.isArray(look) && typeof look[0] === 'string' && typeof look[1] === 'number')
  );
}
