{{/*
Arguments that say what is watched; the controller and the hook before removal share them.
*/}}
{{- define "attune.scopeArgs" -}}
{{- with include "attune.namespaces" . | fromJsonArray }}
- {{ printf "--namespaces=%s" (join "," .) | quote }}
{{- end }}
{{- if and .Values.reloader.watchGlobally .Values.reloader.namespaceSelector }}
- {{ printf "--namespace-selector=%s" .Values.reloader.namespaceSelector | quote }}
{{- end }}
{{- if and .Values.reloader.watchGlobally .Values.reloader.ignoreNamespaces }}
- {{ printf "--namespaces-to-ignore=%s" .Values.reloader.ignoreNamespaces | quote }}
{{- end }}
{{- end -}}

{{- define "attune.args" -}}
{{- $r := .Values.reloader -}}
{{ include "attune.scopeArgs" . }}
{{- with $r.logFormat }}
- {{ printf "--log-format=%s" . | quote }}
{{- end }}
{{- with $r.logLevel }}
- {{ printf "--log-level=%s" . | quote }}
{{- end }}
{{- if $r.ignoreSecrets }}
- "--resources-to-ignore=secrets"
{{- end }}
{{- if $r.ignoreConfigMaps }}
- "--resources-to-ignore=configmaps"
{{- end }}
{{- if $r.ignoreJobs }}
- "--ignored-workload-types=jobs"
{{- end }}
{{- if $r.ignoreCronJobs }}
- "--ignored-workload-types=cronjobs"
{{- end }}
{{- with $r.resourceLabelSelector }}
- {{ printf "--resource-label-selector=%s" . | quote }}
{{- end }}
{{- with $r.webhookUrl }}
- {{ printf "--webhook-url=%s" . | quote }}
{{- end }}
{{- include "attune.annotationArgs" . }}
{{- range $value, $flag := dict "autoReloadAll" "auto-reload-all" "isArgoRollouts" "is-Argo-Rollouts" "reloadOnCreate" "reload-on-create" "reloadOnDelete" "reload-on-delete" "syncAfterRestart" "sync-after-restart" "enableCSIIntegration" "enable-csi-integration" "enablePProf" "enable-pprof" }}
{{- if get $r $value }}
- "--{{ $flag }}=true"
{{- end }}
{{- end }}
{{- if and $r.enablePProf $r.pprofAddr }}
- {{ printf "--pprof-addr=%s" $r.pprofAddr | quote }}
{{- end }}
{{- if ne (default "default" $r.reloadStrategy) "default" }}
- {{ printf "--reload-strategy=%s" $r.reloadStrategy | quote }}
{{- end }}
{{- if include "attune.highlyAvailable" . }}
- "--enable-ha=true"
{{- end }}
{{- include "attune.ownArgs" . }}
{{- end -}}

{{- define "attune.annotationArgs" -}}
{{- $flags := dict "configmap" "configmap-annotation" "secret" "secret-annotation" "auto" "auto-annotation" "configmap_auto" "configmap-auto-annotation" "secret_auto" "secret-auto-annotation" "search" "auto-search-annotation" "match" "search-match-annotation" "ignore" "ignore-annotation" "pausePeriod" "pause-deployment-annotation" "pauseTime" "pause-deployment-time-annotation" -}}
{{- range $key, $annotation := .Values.reloader.custom_annotations }}
{{- if and $annotation (hasKey $flags $key) }}
- {{ printf "--%s=%s" (get $flags $key) $annotation | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Flags that Stakater Reloader does not have. */}}
{{- define "attune.ownArgs" -}}
{{- $flags := dict "compat" "compat" "quietPeriod" "quiet-period" "maxWait" "max-wait" "catchUpMax" "catch-up-max" "concurrency" "concurrency" "watchHelmSecrets" "watch-helm-secrets" -}}
{{- range $key, $flag := $flags }}
{{- $value := get $.Values.attune $key | toString }}
{{- if not (has $value (list "" "<nil>" "false")) }}
- {{ printf "--%s=%s" $flag $value | quote }}
{{- end }}
{{- end }}
{{- range .Values.attune.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "attune.env" -}}
{{- $env := .Values.reloader.deployment.env | default dict -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: RELOADER_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: RELOADER_DEPLOYMENT_NAME
  value: {{ include "attune.fullname" . | quote }}
{{- if eq (include "attune.mode" .) "single" }}
- name: KUBERNETES_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- if .Values.reloader.enableMetricsByNamespace }}
- name: METRICS_COUNT_BY_NAMESPACE
  value: enabled
{{- end }}
{{- if not (hasKey ($env.open | default dict) "NODE_OPTIONS") }}
- name: NODE_OPTIONS
  value: {{ include "attune.nodeOptions" . | quote }}
{{- end }}
{{- range $name, $value := $env.open }}
{{- if ne (toString $value) "" }}
- name: {{ $name | quote }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $env.secret }}
{{- if ne (toString $value) "" }}
- name: {{ $name | quote }}
  valueFrom:
    secretKeyRef:
      name: {{ include "attune.fullname" $ }}
      key: {{ $name | quote }}
{{- end }}
{{- end }}
{{- range $secret, $keys := $env.existing }}
{{- range $name, $key := $keys }}
- name: {{ $name | quote }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret | quote }}
      key: {{ $key | quote }}
{{- end }}
{{- end }}
{{- range $name, $path := $env.field }}
{{- if $path }}
- name: {{ $name | quote }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $path | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A small young generation keeps resident memory low; the old one is bounded so that V8 collects before the kernel kills. */}}
{{- define "attune.nodeOptions" -}}
--max-semi-space-size=2
{{- with include "attune.heapMiB" . }} --max-old-space-size={{ . }}{{ end -}}
{{- end -}}

{{/* MiB for V8's heap: of the memory limit, 64 MiB are the runtime's own, and a quarter of the rest is for buffers. */}}
{{- define "attune.heapMiB" -}}
{{- $deployment := .Values.reloader.deployment -}}
{{- $limit := $deployment.gomemlimitOverride | default (dig "limits" "memory" "" ($deployment.resources | default dict)) -}}
{{- if kindIs "float64" $limit -}}{{- $limit = printf "%.0f" $limit -}}{{- end -}}
{{- $limit = $limit | toString | trimSuffix "B" -}}
{{- if regexMatch "^[0-9]+([.][0-9]+)?([kMGT]|[KMGT]i)?$" $limit -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" $limit | float64 -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $mebibytes := divf (mulf $number (get $bytes (regexFind "[kKMGT]i?$" $limit))) 1048576 -}}
{{- max 32 (mulf (subf $mebibytes 64) 0.75 | floor | int) -}}
{{- end -}}
{{- end -}}

{{- define "attune.probe" -}}
{{- merge dict (. | default dict) (dict "initialDelaySeconds" 1 "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 5 "successThreshold" 1) | toYaml -}}
{{- end -}}

{{/* JSON list of the ports of the URLs that the values let the program call. One in an existing Secret cannot be seen here. */}}
{{- define "attune.sinkPorts" -}}
{{- $env := merge dict ((.Values.reloader.deployment.env).open | default dict) ((.Values.reloader.deployment.env).secret | default dict) -}}
{{- $ports := list -}}
{{- range compact (list .Values.reloader.webhookUrl $env.ALERT_WEBHOOK_URL $env.ALERT_WEBHOOK_PROXY) -}}
{{- $url := urlParse (trim .) -}}
{{- $ports = append $ports (regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (eq $url.scheme "http" | ternary "80" "443")) -}}
{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end -}}
