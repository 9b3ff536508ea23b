import fc from 'fast-check';
import { expect, test } from 'vitest';
import { referencesOf } from './references.ts';

test('each source is mentioned once, with the way it is used', () => {
  const template = {
    spec: {
      containers: [
        { name: 'a', envFrom: [{ configMapRef: { name: 'one' } }, { secretRef: { name: 'one' } }] },
        { name: 'b', volumeMounts: [{ name: 'v' }], envFrom: [{ configMapRef: { name: 'one' } }] },
      ],
      initContainers: [{ name: 'i', envFrom: [{ configMapRef: { name: 'init' } }] }],
      volumes: [
        { name: 'v', configMap: { name: 'two' } },
        { name: 'w', secret: { secretName: 'lost' } },
      ],
      imagePullSecrets: [{ name: 'pull' }, { name: 'one' }],
    },
  };
  expect(referencesOf(template, false)).toEqual([
    { kind: 'ConfigMap', name: 'two', via: 'volume', container: 1 },
    { kind: 'ConfigMap', name: 'one', via: 'env', container: 0 },
    { kind: 'Secret', name: 'one', via: 'env', container: 0 },
    { kind: 'ConfigMap', name: 'init', via: 'init-env', container: 0 },
    { kind: 'Secret', name: 'pull', via: 'image-pull-secret', container: 0 },
    { kind: 'Secret', name: 'lost', via: 'unmounted-volume', container: undefined },
  ]);
  expect(referencesOf(template, true).map(({ name }) => name)).not.toContain('pull');
});

test('whatever a template is, it has references or none', () => {
  fc.assert(
    fc.property(fc.anything(), fc.boolean(), (template, compat) => {
      expect(Array.isArray(referencesOf(template as undefined, compat))).toBe(true);
    }),
  );
});
