/**
 * kwok's Stage objects: what it does with nodes and pods. Two labels on a pod change that:
 *
 *  - `sandbox.attune.dev/ready: "false"` keeps a pod running and unready; changing the label changes the readiness.
 *  - `sandbox.attune.dev/complete: "succeeded"` or `"failed"` ends a running pod. Without it a Job's pod runs on.
 *
 * kwok leaves pods alone whose image the pod runner runs as processes of this machine.
 */
export const READY_LABEL = 'sandbox.attune.dev/ready';
export const COMPLETE_LABEL = 'sandbox.attune.dev/complete';

/** The stages as YAML for kwok; pods of `processImages` are left to the pod runner. */
export function stages(processImages: readonly string[]): string {
  const documents = [nodeInitialize(), nodeHeartbeat(), ...podStages(processImages)];
  // JSON is valid YAML; one document per stage.
  return documents.map((document) => JSON.stringify(document)).join('\n---\n');
}

interface Expression {
  /** A jq query over the object. */
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

const is = (key: string, ...values: string[]): Expression => ({ key, operator: 'In', values });
const isNot = (key: string, ...values: string[]): Expression => ({ key, operator: 'NotIn', values });

const READY = '.status.conditions.[] | select( .type == "Ready" ) | .status';
const PHASE = '.status.phase';
const DELETED: Expression = { key: '.metadata.deletionTimestamp', operator: 'Exists' };
const NOT_DELETED: Expression = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' };
const WANTS_UNREADY = `.metadata.labels["${READY_LABEL}"]`;
const WANTS_END = `.metadata.labels["${COMPLETE_LABEL}"]`;

function stage(kind: 'Pod' | 'Node', name: string, matchExpressions: readonly Expression[], next: object) {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: { apiGroup: 'v1', kind }, selector: { matchExpressions }, next },
  };
}

function podStages(processImages: readonly string[]) {
  // ghcr.io/some/attune:1.0@sha256:… → attune
  const notProcess = isNot('.spec.containers.[].image | sub("^.*/"; "") | sub("[:@].*$"; "")', ...processImages);
  const pod = (name: string, expressions: readonly Expression[], statusTemplate: string) =>
    stage('Pod', name, [notProcess, NOT_DELETED, ...expressions], { statusTemplate });
  return [
    pod('pod-start', [is(PHASE, 'Pending'), isNot(WANTS_UNREADY, 'false')], running(true)),
    pod('pod-start-unready', [is(PHASE, 'Pending'), is(WANTS_UNREADY, 'false')], running(false)),
    pod('pod-ready', [is(PHASE, 'Running'), isNot(WANTS_UNREADY, 'false'), isNot(READY, 'True')], running(true)),
    pod('pod-unready', [is(PHASE, 'Running'), is(WANTS_UNREADY, 'false'), isNot(READY, 'False')], running(false)),
    pod('pod-succeed', [is(PHASE, 'Running'), is(WANTS_END, 'succeeded')], ended(0)),
    pod('pod-fail', [is(PHASE, 'Running'), is(WANTS_END, 'failed')], ended(1)),
    stage('Pod', 'pod-delete', [notProcess, DELETED], { delete: true }),
  ];
}

/** The status of a running pod; one that runs already keeps its start time. */
function running(ready: boolean): string {
  return `
{{ $now := Now }}
{{ $since := or .status.startTime $now }}
phase: Running
startTime: {{ $since | Quote }}
conditions:
- { type: Initialized, status: "True", lastTransitionTime: {{ $since | Quote }} }
- { type: Ready, status: "${ready ? 'True' : 'False'}", lastTransitionTime: {{ $now | Quote }} }
- { type: ContainersReady, status: "${ready ? 'True' : 'False'}", lastTransitionTime: {{ $now | Quote }} }
{{ range .spec.readinessGates }}
- { type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }} }
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: ${ready}
  started: true
  restartCount: 0
  state: { running: { startedAt: {{ $since | Quote }} } }
{{ end }}
{{ with .spec.initContainers }}
initContainerStatuses:
{{ range . }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: true
  restartCount: 0
  {{ if eq (or .restartPolicy "") "Always" }}
  started: true
  state: { running: { startedAt: {{ $since | Quote }} } }
  {{ else }}
  state:
    terminated: { exitCode: 0, reason: Completed, startedAt: {{ $since | Quote }}, finishedAt: {{ $since | Quote }} }
  {{ end }}
{{ end }}
{{ end }}
{{ if not .status.podIP }}
{{ with PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) }}
podIP: {{ . | Quote }}
podIPs:
- ip: {{ . | Quote }}
{{ end }}
{{ end }}
hostIP: 127.0.0.1
`;
}

function ended(exitCode: 0 | 1): string {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  return `
{{ $now := Now }}
{{ $since := or .status.startTime $now }}
phase: ${exitCode === 0 ? 'Succeeded' : 'Failed'}
conditions:
- { type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }} }
- { type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }} }
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  started: false
  restartCount: 0
  state:
    running: null
    terminated:
      { exitCode: ${exitCode}, reason: ${reason}, startedAt: {{ $since | Quote }}, finishedAt: {{ $now | Quote }} }
{{ end }}
`;
}

function nodeInitialize() {
  const statusTemplate = `
{{ $now := Now }}
phase: Running
${nodeConditions()}
addresses:
- { type: InternalIP, address: 127.0.0.1 }
- { type: Hostname, address: {{ .metadata.name | Quote }} }
capacity: { cpu: 1k, memory: 1Ti, pods: 100k, ephemeral-storage: 1Ti }
allocatable: { cpu: 1k, memory: 1Ti, pods: 100k, ephemeral-storage: 1Ti }
nodeInfo:
  architecture: ${process.arch === 'x64' ? 'amd64' : process.arch}
  operatingSystem: linux
  bootID: ""
  containerRuntimeVersion: sandbox
  kernelVersion: sandbox
  kubeProxyVersion: sandbox
  kubeletVersion: sandbox
  machineID: ""
  osImage: ""
  systemUUID: ""
`;
  return stage('Node', 'node-initialize', [isNot(READY, 'True')], { statusTemplate });
}

/** kwok renews the leases of nodes by itself; this renews the heartbeat times of their conditions. */
function nodeHeartbeat() {
  const heartbeat = stage('Node', 'node-heartbeat', [is(PHASE, 'Running'), is(READY, 'True')], {
    statusTemplate: `\n{{ $now := Now }}\n${nodeConditions()}\n`,
  });
  const delay = { durationMilliseconds: 300_000, jitterDurationMilliseconds: 310_000 };
  return { ...heartbeat, spec: { ...heartbeat.spec, delay } };
}

function nodeConditions(): string {
  return `conditions:
{{ $since := or .metadata.creationTimestamp $now }}
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $since | Quote }}
{{ end }}`;
}
