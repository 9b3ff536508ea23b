import { type JsonObject, listIn, objectIn, textIn } from '../../api/json.ts';
import type { Piece } from '../../api/piece.ts';
import type { SourceKind } from '../../api/sources.ts';

/** What a reloader writes for a deleted source: SHA-1 of Stakater's text `__RELOADER_EMPTY_DELETE_MARKER__`. */
export const DELETE_MARK = 'aae45badef99284e4dae01d6046154ea9d99532f';

/** What is hashed about a source, in Stakater's order: complete `key=value` texts compared byte by byte. */
export function piecesOf(kind: SourceKind, object: unknown): readonly Piece[] {
  const source = objectIn(object);
  switch (kind) {
    case 'ConfigMap':
      return [...entries('data', source['data']), ...entries('binaryData', source['binaryData'])].sort(byKey);
    case 'Secret':
      return entries('secret', source['data']).sort(byKey);
    case 'SecretProviderClass':
      return statusPieces(objectIn(source['status'])).sort(byText);
  }
}

function entries(part: Piece['part'], data: unknown): Piece[] {
  const bytesOrText = (value: unknown) => (value instanceof Uint8Array ? value : textIn(value));
  return Object.entries(objectIn(data)).map(([key, value]) => ({ part, key, value: bytesOrText(value) }));
}

function statusPieces(status: JsonObject): Piece[] {
  const pieces = listIn(status['objects']).map((entry): Piece => {
    const object = objectIn(entry);
    return { part: 'object', key: textIn(object['id']), value: textIn(object['version']) };
  });
  const className = textIn(status['secretProviderClassName']);
  return [...pieces, { part: 'class', key: 'SecretProviderClassName', value: className }];
}

/** A key of a ConfigMap or Secret cannot contain `=`, so the values, which may be large, need not be compared. */
function byKey(a: Piece, b: Piece): number {
  return compareBytes(`${a.key}=`, `${b.key}=`) || compareBytes(a.part, b.part);
}

/** Equal texts that are split at different `=` are ordered by the length of the key: the order must be the same each time. */
function byText(a: Piece, b: Piece): number {
  return (
    compareBytes(`${a.key}=${a.value}`, `${b.key}=${b.value}`) ||
    a.key.length - b.key.length ||
    compareBytes(a.part, b.part)
  );
}

/** Order of the UTF-8 bytes. It is that of UTF-16 units, except that surrogates come after U+E000 to U+FFFF. */
function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const difference = weight(a.charCodeAt(i)) - weight(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function weight(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
