{{/* Rights on users' objects, from the values alone: what the cluster has at render time must not decide what the program may do. */}}
{{- define "attune.rules" -}}
{{- $r := .Values.reloader -}}
- apiGroups: [""]
  resources:
    {{- if not $r.ignoreConfigMaps }}
    - configmaps
    {{- end }}
    {{- if not $r.ignoreSecrets }}
    - secrets
    {{- end }}
  verbs: [get, list, watch]
{{- if and $r.watchGlobally (or $r.namespaceSelector (include "attune.followsConfigs" .)) }}
# By their labels they are chosen; by an annotation they allow others to name what is in them.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
{{- if $r.enableCSIIntegration }}
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasses, secretproviderclasspodstatuses]
  verbs: [list, watch]
{{- end }}
{{- if $r.webhookUrl }}
# Nothing is rolled: the one list tells how the server counts versions.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list]
{{- else }}
{{ include "attune.workloadRules" . }}
{{- end }}
{{- include "attune.configRules" . }}
{{- end -}}

{{/* ReloaderConfigs, and what those of them need that restart without touching a template. */}}
{{- define "attune.configRules" -}}
{{- if include "attune.followsConfigs" . }}
- apiGroups: [reloader.stakater.com]
  resources: [reloaderconfigs]
  verbs: [list, watch]
- apiGroups: [reloader.stakater.com]
  resources: [reloaderconfigs/status]
  verbs: [patch]
{{- end }}
{{- if include "attune.evicts" . }}
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods/eviction]
  verbs: [create]
# Between a workload and its pods.
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [list]
{{- if .Values.reloader.isOpenshift }}
- apiGroups: [""]
  resources: [replicationcontrollers]
  verbs: [list]
{{- end }}
{{- end }}
{{- end -}}

{{- define "attune.workloadRules" -}}
{{- $r := .Values.reloader -}}
- apiGroups: [apps]
  resources: [deployments, daemonsets, statefulsets]
  verbs: [get, list, watch, patch]
{{- if not $r.ignoreCronJobs }}
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, watch, patch]
{{- end }}
{{- if not $r.ignoreJobs }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
{{- else if not $r.ignoreCronJobs }}
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create]
{{- end }}
{{- if $r.isArgoRollouts }}
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [get, list, watch, patch]
{{- end }}
{{- if $r.isOpenshift }}
- apiGroups: [apps.openshift.io]
  resources: [deploymentconfigs]
  verbs: [get, list, watch, patch]
{{- if not $r.ignoreCronJobs }}
# OpenShift asks for this right when a Job names its CronJob as owner.
- apiGroups: [batch]
  resources: [cronjobs/finalizers]
  verbs: [update]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/*
Rights on the program's own objects, in its own namespace only. Where names are known they are named: the namespace may be
somebody's home too. Creating cannot be limited to names.
*/}}
{{- define "attune.ownRules" -}}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames:
    - reloader-meta-info
    - attune-info
    # The ledger's shards: their number doubles as it grows, up to all of these.
    {{- range until 64 }}
    - attune-ledger-{{ . }}
    {{- end }}
  verbs: [get, update]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
# The ledger's key, and the manifests of Jobs while they are being replaced.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [attune-ledger-key, attune-replacing]
  verbs: [get]
# A key that could be guessed is replaced.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [attune-ledger-key]
  verbs: [update]
{{- if not (or .Values.reloader.ignoreJobs .Values.reloader.webhookUrl) }}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [attune-replacing]
  verbs: [patch]
{{- end }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
{{- if and (include "attune.admits" .) (not (include "attune.certManaged" .)) }}
# The certificate that Attune makes for admission.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "attune.admissionName" . }}-cert]
  verbs: [get, update]
{{- end }}
{{- if include "attune.highlyAvailable" . }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [stakater-reloader-lock]
  verbs: [get, watch, update]
{{- end }}
{{- end -}}
