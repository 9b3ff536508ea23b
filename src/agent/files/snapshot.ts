/** What one file of a mounted folder holds. Missing is not empty. */
export type FileContent =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** All files of a mounted folder as they were at one moment, though the kubelet swaps the folder at any time. */
export interface Snapshot {
  /** The mounted folder. */
  readonly root: string;
  /** `path` within the folder: `redis-auth/password`. */
  get(path: string): FileContent;
}
