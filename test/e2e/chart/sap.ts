import type { Values } from './helm.ts';

/** The defaults of SAP pod-reloader's chart as users copy them into files of their own, less the image. */
export const SAP_DEFAULTS: Values = {
  fullnameOverride: '',
  nameOverride: '',
  replicaCount: 1,
  imagePullSecrets: [],
  nodeSelector: {},
  affinity: {},
  topologySpreadConstraints: [],
  defaultHostNameSpreadPolicy: 'ScheduleAnyway',
  defaultZoneSpreadPolicy: 'ScheduleAnyway',
  tolerations: [],
  priorityClassName: '',
  podSecurityContext: {},
  podAnnotations: {},
  podLabels: {},
  securityContext: {},
  resources: { limits: { cpu: '100m', memory: '128Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
  dnsPolicy: 'ClusterFirst',
  hostNetwork: false,
  pdb: { enabled: true, labels: {}, annotations: {}, minAvailable: '1', maxUnavailable: '' },
  webhook: {
    matchConditions: [],
    certManager: { enabled: false, issuerGroup: '', issuerKind: '', issuerName: '' },
    objectSelector: { matchLabels: {}, matchExpressions: [] },
    namespaceSelector: { matchLabels: {}, matchExpressions: [] },
  },
};
