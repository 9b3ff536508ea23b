import { RELOADER_CONFIGS } from '../resources.ts';
import { definitionOf } from '../schema/definition.ts';
import { SPEC } from './spec-fields.ts';
import { STATUS } from './status-fields.ts';

const condition = (type: string, field: string): string => `.status.conditions[?(@.type=="${type}")].${field}`;

/** What `kubectl get` shows; with priority 1 only `-o wide`. */
const COLUMNS = [
  { name: 'Strategy', type: 'string', jsonPath: '.spec.reloadStrategy' },
  { name: 'Targets', type: 'integer', jsonPath: '.status.targetCount' },
  { name: 'Reloads', type: 'integer', jsonPath: '.status.reloadCount' },
  { name: 'Last Reload', type: 'date', jsonPath: '.status.lastReloadTime' },
  { name: 'Available', type: 'string', jsonPath: condition('Available', 'status') },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  { name: 'Rollout', type: 'string', jsonPath: '.spec.rolloutStrategy', priority: 1 },
  { name: 'Degraded', type: 'string', jsonPath: condition('Degraded', 'status'), priority: 1 },
  { name: 'Reason', type: 'string', jsonPath: condition('Degraded', 'reason'), priority: 1 },
  { name: 'Message', type: 'string', jsonPath: condition('Degraded', 'message'), priority: 1 },
] as const;

const DESCRIPTION =
  'Reloads workloads when ConfigMaps and Secrets change, without annotations on either. To create, edit or delete one ' +
  'reloads nothing.';

/** The CustomResourceDefinition. */
export const crd = () =>
  definitionOf({
    resource: RELOADER_CONFIGS,
    // `rc`, the other one's second short name, means ReplicationController.
    shortName: 'rlc',
    description: DESCRIPTION,
    columns: COLUMNS,
    spec: SPEC,
    status: STATUS,
  });
