{{/* Values that are accepted but do less, or more, than they seem to. One line each. */}}
{{- define "attune.warnings" -}}
{{- $r := .Values.reloader -}}
{{- $d := include "attune.deployment" . | fromYaml -}}
{{- $budget := include "attune.budget" . | fromYaml -}}
{{- $admission := dict -}}
{{- if include "attune.admits" . -}}{{- $admission = .Values.attune.admission -}}{{- end -}}
{{- /* Not kubeVersion in Chart.yaml: a renderer without a cluster takes some old version for granted, and would stop. */ -}}
{{- if semverCompare "<1.21.0-0" .Capabilities.KubeVersion.Version }}
* Kubernetes {{ .Capabilities.KubeVersion.Version }} is older than 1.21, the oldest that Attune knows: it serves no batch/v1 CronJobs and no policy/v1 PodDisruptionBudgets.
{{- end }}
{{- if and (gt (int $d.replicas) 1) (not $r.enableHA) (not $admission) }}
* {{ include "attune.isGiven" .Values.replicaCount | empty | ternary "reloader.deployment.replicas" "replicaCount" }} is {{ $d.replicas }} without reloader.enableHA: leader election was switched on. Say enableHA=true to silence this.
{{- end }}
{{- if and (not $r.watchGlobally) (or $r.ignoreNamespaces $r.namespaceSelector) }}
* reloader.ignoreNamespaces and namespaceSelector only count with watchGlobally=true; they were left out.
{{- end }}
{{- if and $r.syncAfterRestart (not $r.reloadOnCreate) }}
* reloader.syncAfterRestart does nothing without reloadOnCreate. What changes while Attune is down is applied afterwards anyway.
{{- end }}
{{- if and $r.webhookUrl (or $r.autoReloadAll $r.reloadOnDelete $r.custom_annotations) }}
* reloader.webhookUrl replaces reloading: annotations and autoReloadAll have no effect beside it.
{{- end }}
{{- $configs := (.Values.attune).reloaderConfig | default dict }}
{{- if and (not (include "attune.followsConfigs" .)) (or (include "attune.isOn" $configs.restart) $configs.allowReloads) }}
* attune.reloaderConfig.restart and allowReloads have no effect: {{ $r.webhookUrl | empty | ternary "attune.reloaderConfig.enabled is false" "reloader.webhookUrl replaces reloading" }}.
{{- end }}
{{- if ne (include "attune.mode" .) "global" }}
{{- range $allowed := $configs.allowReloads }}
{{- $others := without (splitList "=" .) "*" | uniq }}
{{- range include "attune.roleNamespaces" $ | fromJsonArray }}{{- $others = without $others . }}{{- end }}
{{- with $others }}
* attune.reloaderConfig.allowReloads has {{ $allowed }}, but {{ join " and " . }} is not watched: see reloader.namespaces.
{{- end }}
{{- end }}
{{- end }}
{{- if and $admission (lt (int $d.replicas) 2) }}
* attune.admission with one replica: nobody answers while it is away, and {{ eq (toString $admission.failurePolicy) "Fail" | ternary "writes to concerned workloads are refused" "other writers can undo a reload" }}. Set reloader.deployment.replicas=2.
{{- end }}
{{- if and $admission $admission.from $d.hostNetwork }}
* attune.admission.from has no effect with hostNetwork: a NetworkPolicy does not hold for such pods. Restrict port 9443 on the nodes.
{{- end }}
{{- if and $admission (semverCompare "<1.28.0-0" .Capabilities.KubeVersion.Version) }}
* Kubernetes {{ .Capabilities.KubeVersion.Version }} knows no matchConditions (1.28): Attune is asked about every write of a workload, also of those that did not ask for anything.
{{- end }}
{{- if and (include "attune.isOn" $budget.enabled) (eq (int $d.replicas) 1) (or (eq (toString $budget.minAvailable) "1") (eq (toString $budget.maxUnavailable) "0")) }}
* The PodDisruptionBudget with one replica forbids draining its node.
{{- end }}
{{- if and (include "attune.isOn" $budget.enabled) $budget.minAvailable (not (kindIs "invalid" $budget.maxUnavailable)) }}
* reloader.podDisruptionBudget has both maxUnavailable and minAvailable: maxUnavailable was taken.
{{- end }}
{{- if not (include "attune.isOn" $r.rbac.enabled) }}
* reloader.rbac.enabled is false: the ServiceAccount {{ include "attune.serviceAccountName" . }} needs its rights from elsewhere.
{{- end }}
{{- if and (include "attune.isOn" ($r.netpol).enabled) ($d.env).existing }}
* reloader.netpol cannot see the URLs in env.existing: only ports 443 and 6443 are open beside DNS.
{{- end }}
{{- if $r.enablePProf }}
* reloader.enablePProf opens nothing: a profiler on the network shows memory, and so Secrets, to anybody.
{{- end }}
{{- if $d.gomaxprocsOverride }}
* reloader.deployment.gomaxprocsOverride has no effect: the program uses one thread.
{{- end }}
{{- with include "attune.limitMiB" . }}
{{- if lt (float64 .) 96.0 }}
* reloader.deployment.resources.limits.memory is below 96Mi: 72 MB are in use with fifty workloads, and more would end it.
{{- end }}
{{- else }}
* Without reloader.deployment.resources.limits.memory the heap is not bounded.
{{- end }}
{{- if and .Values.image.tag (ne (toString .Values.image.tag) .Chart.AppVersion) (not .Values.image.digest) }}
* image.tag is {{ .Values.image.tag }}, this chart is made for {{ .Chart.AppVersion }}. A tag left over from another chart?
{{- end }}
{{- include "attune.unreadKeys" . }}
{{- end -}}

{{/* Keys that nothing reads: misspelt, in the wrong place, or of a chart of another time. */}}
{{- define "attune.unreadKeys" -}}
{{- $known := dict
  "" (splitList " " "global nameOverride fullnameOverride namespace image attune reloader kubernetes replicaCount imagePullSecrets nodeSelector affinity topologySpreadConstraints defaultHostNameSpreadPolicy defaultZoneSpreadPolicy tolerations priorityClassName podSecurityContext podAnnotations podLabels securityContext resources dnsPolicy hostNetwork pdb webhook")
  "reloader" (splitList " " "autoReloadAll isArgoRollouts isOpenshift ignoreSecrets ignoreConfigMaps ignoreJobs ignoreCronJobs reloadOnCreate reloadOnDelete syncAfterRestart reloadStrategy ignoreNamespaces namespaceSelector resourceLabelSelector logFormat logLevel watchGlobally namespaces enableHA enablePProf pprofAddr enableCSIIntegration enableMetricsByNamespace readOnlyRootFileSystem legacy matchLabels webhookUrl custom_annotations deployment service rbac serviceAccount serviceMonitor podMonitor podDisruptionBudget netpol verticalPodAutoscaler")
  "reloader.deployment" (splitList " " "replicas revisionHistoryLimit hostUsers nodeSelector affinity tolerations topologySpreadConstraints priorityClassName runtimeClassName schedulerName dnsConfig dnsPolicy hostNetwork annotations labels pod securityContext containerSecurityContext env livenessProbe readinessProbe resources gomemlimitOverride gomaxprocsOverride automountServiceAccountToken volumes volumeMounts") -}}
{{- $cures := dict
  "reloader.volumes" "it belongs under reloader.deployment."
  "reloader.volumeMounts" "it belongs under reloader.deployment."
  "reloader.deployment.image" "it is image now, with repository and tag."
  "reloader.deployment.imagePullSecrets" "it is global.imagePullSecrets now."
  "reloader.deployment.extraArgs" "use attune.extraArgs or the value of its own, such as reloader.enableCSIIntegration." -}}
{{- range $place, $values := dict "" .Values "reloader" .Values.reloader "reloader.deployment" .Values.reloader.deployment }}
{{- range $key, $value := $values }}
{{- if not (or (kindIs "invalid" $value) (has $key (get $known $place))) }}
{{- $path := printf "%s.%s" $place $key | trimPrefix "." }}
* {{ $path }} is not read: {{ get $cures $path | default "is it spelt right?" }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
