/**
 * One entry of what is hashed about a source.
 *
 * `data`: text of a ConfigMap. `binaryData`: base64 of a ConfigMap, hashed as base64 in its canonical spelling.
 * `secret`: base64 of a Secret, hashed as the bytes it stands for. `object` and `class`: of a
 * SecretProviderClassPodStatus, text. The part also keeps apart what Stakater's hash confuses.
 */
export interface Piece {
  readonly part: 'data' | 'binaryData' | 'secret' | 'object' | 'class';
  readonly key: string;
  /** Bytes: they need no decoding. */
  readonly value: string | Uint8Array;
}
