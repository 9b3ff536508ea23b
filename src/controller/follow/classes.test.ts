import { expect, test } from 'vitest';
import { digest } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { SourceRef } from '../../api/sources.ts';
import { ObjectCache } from '../../kube/watch/object-cache.ts';
import type { ReflectEvent } from '../../kube/watch/reflector.ts';
import { createObjectParser } from '../../model/object-parser.ts';
import { type SourceChange, SourceHistory } from '../../model/sources/source-history.ts';
import { type FollowDeps, follow } from './subscriptions.ts';

interface Followed {
  readonly resource: { readonly plural: string };
  readonly digest: (object: KubeObject, full: boolean, previous: undefined) => unknown;
  readonly onEvent: (event: ReflectEvent<unknown>, scope: object) => void;
}

/** A cluster with SecretProviderClasses and the statuses of pods. */
async function world() {
  const parser = createObjectParser({ keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest });
  const sources = new SourceHistory();
  const followed = new Map<string, Followed>();
  const changes: SourceChange[] = [];
  await follow(
    {
      ...{ parser, sources, inScope: () => true, report: { received: () => {}, following: () => {} } },
      options: {
        scope: { mode: 'global', ignore: [] },
        resourcesToIgnore: new Set(['configmaps', 'secrets']),
        enableCsiIntegration: true,
      },
      watches: {
        followOnceServed: async (one: Followed) => void followed.set(one.resource.plural, one),
        synced: async () => {},
      },
      sourceSeen: (_ref: SourceRef, change: SourceChange) => void changes.push(change),
    } as unknown as FollowDeps,
    false,
  );
  let version = 0;
  const kind = (plural: string) => {
    const { digest: read, onEvent } = followed.get(plural) as Followed;
    const cache = new ObjectCache<unknown>((object, full) => read(object, full, undefined));
    return (type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, more: object = {}, meta: object = {}) => {
      version += 1;
      const metadata = { namespace: 'shop', name, uid: name, resourceVersion: String(version), ...meta };
      cache.apply({ type, object: { metadata, ...more } as KubeObject }, (event) => onEvent(event, {}));
    };
  };
  const status = kind('secretproviderclasspodstatuses');
  return {
    ...{ sources, changes, onClass: kind('secretproviderclasses') },
    onStatus: (type: 'ADDED' | 'MODIFIED' | 'DELETED', pod: string, className: string, value: string) =>
      status(type, pod, { status: { secretProviderClassName: className, objects: [{ id: 'a', version: value }] } }),
  };
}

const classNamed = (name: string): SourceRef => ({ kind: 'SecretProviderClass', namespace: 'shop', name });
const LABELS = { labels: { team: 'a' } };

test('a class of which neither object nor status is left is forgotten after a thousand others, and no other is', async () => {
  const { sources, onClass, onStatus } = await world();
  onClass('ADDED', 'with-object');
  onStatus('ADDED', 'pod-of-object', 'with-object', '1');
  onStatus('DELETED', 'pod-of-object', 'with-object', '1');
  onStatus('ADDED', 'pod', 'with-pod', '1');
  onStatus('ADDED', 'other-pod', 'with-pod', '1');
  onStatus('DELETED', 'other-pod', 'with-pod', '1');
  onStatus('ADDED', 'moves', 'first', '1');
  onStatus('MODIFIED', 'moves', 'second', '1');
  for (let n = 0; n < 3000; n += 1) {
    onClass('ADDED', `class-${n}`);
    onStatus('ADDED', `pod-${n}`, `class-${n}`, '1');
    onClass('DELETED', `class-${n}`);
    onStatus('DELETED', `pod-${n}`, `class-${n}`, '1');
  }
  expect(sources.countIn('SecretProviderClass', 'shop')).toBe(1000 + 3);
  const isKnown = (name: string) => sources.get(classNamed(name)) !== undefined;
  const names = ['with-object', 'with-pod', 'first', 'second', 'class-1999', 'class-2000'];
  expect(names.filter(isKnown)).toEqual(['with-object', 'with-pod', 'second', 'class-2000']);
});

test('a class whose pods were scaled to none and come back with the same value has not changed', async () => {
  const { sources, changes, onStatus } = await world();
  onStatus('ADDED', 'pod', 'vault', '1');
  const before = sources.current(classNamed('vault'));
  onStatus('DELETED', 'pod', 'vault', '1');
  onStatus('ADDED', 'pod', 'vault', '1');
  expect([sources.current(classNamed('vault')), changes.length]).toEqual([before, 1]);
  onStatus('MODIFIED', 'pod', 'vault', '2');
  expect(changes.at(-1)).toMatchObject({ before, flagsMoved: false });
});

test('what the rules read of a class stays while its object is replaced', async () => {
  const { sources, changes, onClass, onStatus } = await world();
  onClass('ADDED', 'vault', {}, LABELS);
  onStatus('ADDED', 'pod', 'vault', '1');
  onClass('DELETED', 'vault', {}, LABELS);
  onStatus('MODIFIED', 'pod', 'vault', '2');
  onClass('ADDED', 'vault', {}, LABELS);
  expect(sources.flags(classNamed('vault')).labels).toEqual(LABELS.labels);
  expect(changes.slice(1).some(({ flagsMoved }) => flagsMoved)).toBe(false);
});
