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
{{- include "attune.admissionArgs" . }}
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
{{- $value := get ($.Values.attune | default dict) $key | toString }}
{{- if not (has $value (list "" "<nil>" "false")) }}
- {{ printf "--%s=%s" $flag $value | quote }}
{{- end }}
{{- end }}
{{- if eq (toString ((.Values.attune).reloaderConfig).enabled) "false" }}
- "--reloader-config=false"
{{- end }}
{{- with ((.Values.attune).reloaderConfig).allowReloads }}
- {{ printf "--allow-reloads=%s" (join "," .) | quote }}
{{- end }}
{{- range (.Values.attune).extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* What the program needs to know of its pod. A variable of the same name in the values takes its place. */}}
{{- define "attune.ownEnv" -}}
POD_NAME: {valueFrom: {fieldRef: {fieldPath: metadata.name}}}
POD_NAMESPACE: {valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
RELOADER_NAMESPACE: {valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
RELOADER_DEPLOYMENT_NAME: {value: {{ include "attune.fullname" . | quote }}}
{{- if eq (include "attune.mode" .) "single" }}
KUBERNETES_NAMESPACE: {valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
{{- end }}
{{- if .Values.reloader.enableMetricsByNamespace }}
METRICS_COUNT_BY_NAMESPACE: {value: enabled}
{{- end }}
{{- if include "attune.admits" . }}
ATTUNE_ADMISSION_NAME: {value: {{ include "attune.admissionName" . | quote }}}
{{- end }}
{{- with include "attune.heapMiB" . }}
NODE_OPTIONS: {value: "--max-old-space-size={{ . }}"}
{{- end }}
{{- end -}}

{{- define "attune.env" -}}
{{- $env := .Values.reloader.deployment.env | default dict -}}
{{- $theirs := list -}}
{{- range $name, $value := $env.open -}}
{{- if include "attune.isGiven" $value -}}
{{- $theirs = append $theirs (dict "name" $name "value" (toString $value)) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $env.secret -}}
{{- if include "attune.isGiven" $value -}}
{{- $theirs = append $theirs (dict "name" $name "valueFrom" (dict "secretKeyRef" (dict "name" (include "attune.fullname" $) "key" $name))) -}}
{{- end -}}
{{- end -}}
{{- range $secret, $keys := $env.existing -}}
{{- range $name, $key := $keys -}}
{{- if $key -}}
{{- $theirs = append $theirs (dict "name" $name "valueFrom" (dict "secretKeyRef" (dict "name" $secret "key" (toString $key)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $path := $env.field -}}
{{- if $path -}}
{{- $theirs = append $theirs (dict "name" $name "valueFrom" (dict "fieldRef" (dict "fieldPath" $path))) -}}
{{- end -}}
{{- end -}}
{{- $own := include "attune.ownEnv" . | fromYaml -}}
{{- range $theirs -}}{{- $own = omit $own .name -}}{{- end -}}
{{- /* Ours first: theirs may refer to them. */ -}}
{{- $all := list -}}
{{- range $name, $source := $own -}}{{- $all = append $all (merge (dict "name" $name) $source) -}}{{- end -}}
{{- concat $all $theirs | toYaml -}}
{{- end -}}

{{/*
MiB for V8's heap, so that it collects before the kernel kills: of the memory limit, 64 MiB are the runtime's own, and a
quarter of the rest is for buffers.
*/}}
{{- define "attune.heapMiB" -}}
{{- with .Values.reloader.deployment.gomemlimitOverride | include "attune.mebibytes" | default (include "attune.limitMiB" .) -}}
{{- max 32 (mulf (subf (float64 .) 64) 0.75 | floor | int) -}}
{{- end -}}
{{- end -}}

{{/* The memory limit in force in MiB, or nothing. */}}
{{- define "attune.limitMiB" -}}
{{- dig "limits" "memory" "" (include "attune.resources" . | fromYaml) | include "attune.mebibytes" -}}
{{- end -}}

{{/* A quantity of memory in MiB; nothing if it is none. */}}
{{- define "attune.mebibytes" -}}
{{- $quantity := kindIs "float64" . | ternary (printf "%.0f" .) (toString . | trimSuffix "B") -}}
{{- if regexMatch "^[0-9]+([.][0-9]+)?([kMGT]|[KMGT]i)?$" $quantity -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" $quantity | float64 -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- divf (mulf $number (get $bytes (regexFind "[kKMGT]i?$" $quantity))) 1048576 -}}
{{- end -}}
{{- end -}}

{{/* Ours, or the user's whole: half of each could ask for more than it allows. Null means none. */}}
{{- define "attune.resources" -}}
{{- $resources := (include "attune.deployment" . | fromYaml).resources | default dict -}}
{{- if or (kindIs "map" $resources.requests) (kindIs "map" $resources.limits) -}}
{{- range $part, $quantities := pick $resources "requests" "limits" -}}
{{- range $name, $quantity := $quantities -}}
{{- if kindIs "invalid" $quantity -}}{{- $quantities = omit $quantities $name -}}{{- end -}}
{{- end -}}
{{- $resources = merge (dict $part ($quantities | default dict)) (omit $resources $part) -}}
{{- end -}}
{{- else -}}
{{- $resources = merge (dict "requests" (dict "cpu" "10m" "memory" "96Mi") "limits" (dict "memory" "256Mi")) $resources -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{- define "attune.probe" -}}
{{- $given := . | default dict -}}
{{- $probe := dict "initialDelaySeconds" 1 "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 5 "successThreshold" 1 -}}
{{- range $key := keys $probe -}}
{{- with get $given $key | include "attune.isGiven" -}}{{- $_ := set $probe $key (get $given $key | int) -}}{{- end -}}
{{- end -}}
{{- toYaml $probe -}}
{{- end -}}

{{/*
JSON list of the ports of the URLs that the values let the program call. What stands in an existing Secret, or is filled in
after rendering, cannot be seen here.
*/}}
{{- define "attune.sinkPorts" -}}
{{- $env := merge dict ((.Values.reloader.deployment.env).open | default dict) ((.Values.reloader.deployment.env).secret | default dict) -}}
{{- $urls := list .Values.reloader.webhookUrl $env.ALERT_WEBHOOK_URL $env.ALERT_WEBHOOK_PROXY $env.HTTPS_PROXY $env.https_proxy $env.HTTP_PROXY $env.http_proxy -}}
{{- $ports := list -}}
{{- range compact $urls -}}
{{- $url := toString . | trim -}}
{{- /* A proxy may be given without its scheme. */ -}}
{{- if regexMatch "^[A-Za-z0-9.-]+:[0-9]+/?$" $url -}}{{- $url = printf "http://%s" $url -}}{{- end -}}
{{- if regexMatch "^(https?|socks5h?)://" $url -}}
{{- $host := regexReplaceAll "^[a-z0-9]+://([^/?#]*).*$" $url "${1}" -}}
{{- $usual := dict "http" "80" "https" "443" "socks5" "1080" "socks5h" "1080" -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" $host | trimPrefix ":" | default (get $usual (regexFind "^[a-z0-9]+" $url))) -}}
{{- end -}}
{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end -}}
