import fc from 'fast-check';

const optional = <T>(fields: Readonly<Record<string, fc.Arbitrary<T>>>) => fc.record(fields, { requiredKeys: [] });

// Any text at all, where the schema says nothing about it; sometimes one that means something.
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('app', 'my.config', 'app-.*', '['),
);
const labels = fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true });
const selector = optional<unknown>({
  matchLabels: labels,
  matchExpressions: fc.array(
    fc.record(
      {
        key: text,
        operator: fc.oneof(text, fc.constantFrom('In', 'Exists')),
        values: fc.array(text, { maxLength: 3 }),
      },
      { requiredKeys: ['key', 'operator'] },
    ),
    { maxLength: 2 },
  ),
});
const rolloutStrategy = fc.constantFrom('rollout', 'restart');
const reloadStrategy = fc.constantFrom('env-vars', 'annotations');
const pausePeriod = fc.stringMatching(/^([0-9]{1,3}(\.[0-9]{1,2})?(ns|us|µs|ms|s|m|h)){1,3}$/);

const target = fc.record(
  {
    kind: fc.constantFrom('Deployment', 'StatefulSet', 'DaemonSet', 'DeploymentConfig', 'Rollout', 'CronJob'),
    name: text,
    namespace: text,
    rolloutStrategy,
    reloadStrategy,
    pausePeriod,
    requireReference: fc.boolean(),
  },
  { requiredKeys: ['kind', 'name'] },
);

/** Any `spec` that the definition of the operator accepts that Attune replaces. */
export const acceptedSpecs: fc.Arbitrary<object> = optional<unknown>({
  watchedResources: optional<unknown>({
    secrets: fc.array(text, { maxLength: 3 }),
    configMaps: fc.array(text, { maxLength: 3 }),
    enableTargetedReload: fc.boolean(),
    namespaceSelector: selector,
    resourceSelector: selector,
  }),
  targets: fc.array(target, { maxLength: 4 }),
  rolloutStrategy,
  reloadStrategy,
  autoReloadAll: fc.boolean(),
  ignoreResources: fc.array(
    fc.record(
      { kind: fc.constantFrom('Secret', 'ConfigMap'), name: text, namespace: text },
      { requiredKeys: ['kind', 'name'] },
    ),
    { maxLength: 3 },
  ),
  matchLabels: labels,
});
