import { KubeError } from '../../kube/kube-error.ts';

/** For the `catch` of a read: what does not exist is undefined, and anything else still fails. */
export function unlessAbsent(error: unknown): undefined {
  if (!KubeError.is(error, 'NotFound')) throw error;
}
