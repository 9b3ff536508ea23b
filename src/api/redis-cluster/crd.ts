import { REDIS_CLUSTERS } from '../resources.ts';
import { definitionOf } from '../schema/definition.ts';
import { ALLOW_DANGEROUS, EMPTY_PRIMARY, FENCED_INSTANCES } from './annotations.ts';
import { SPEC } from './spec-fields.ts';
import { STATUS } from './status-fields.ts';

/** What `kubectl get` shows; with priority 1 only `-o wide`. */
const COLUMNS = [
  { name: 'Instances', type: 'integer', jsonPath: '.spec.instances' },
  { name: 'Ready', type: 'integer', jsonPath: '.status.readyInstances' },
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Primary', type: 'string', jsonPath: '.status.currentPrimary' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Mode', type: 'string', jsonPath: '.spec.mode', priority: 1 },
  { name: 'TLS', type: 'string', jsonPath: '.spec.tlsSecret.name', priority: 1 },
  { name: 'Source', type: 'string', jsonPath: '.spec.replicaMode.source.host', priority: 1 },
  {
    name: 'Fenced',
    type: 'string',
    jsonPath: `.metadata.annotations.${FENCED_INSTANCES.replaceAll('.', '\\.')}`,
    priority: 1,
  },
] as const;

const DESCRIPTION =
  'How the Redis of some pods is to be: settings, passwords, users, certificates and roles, which an agent in each pod applies ' +
  `while Redis serves. Annotation ${FENCED_INSTANCES}: a JSON array of the pods whose Redis is stopped, ["*"] for all. ` +
  `Annotation ${ALLOW_DANGEROUS}: a comma-separated list of keys of spec.redis that may be changed though data or service can be ` +
  `lost by it, and ${EMPTY_PRIMARY}: the primary may start without data though another pod has some.`;

/** The CustomResourceDefinition. */
export const crd = () =>
  definitionOf({
    resource: REDIS_CLUSTERS,
    // `rc`, which the operator has, means ReplicationController.
    shortName: 'rdc',
    description: DESCRIPTION,
    columns: COLUMNS,
    spec: SPEC,
    status: STATUS,
  });
