import type { Resource } from '../resources.ts';
import type { Field } from './field.ts';
import { schemaOf } from './schema-of.ts';

/** A column of `kubectl get`; with priority 1 only of `-o wide`. */
interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
}

/** What one kind has that others have not. */
interface Kind {
  readonly resource: Resource;
  readonly shortName: string;
  readonly description: string;
  readonly columns: readonly Column[];
  readonly spec: Field;
  readonly status: Field;
}

/** The CustomResourceDefinition of a kind with one version. */
export function definitionOf({ resource, shortName, description, columns, spec, status }: Kind) {
  const { group, version, plural, kind } = resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames: [shortName] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: schemaOf(spec),
                status: schemaOf(status),
              },
            },
          },
        },
      ] as const,
    },
  };
}
