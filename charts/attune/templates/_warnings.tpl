{{/* Values that are accepted but do less, or more, than they seem to. One line each. */}}
{{- define "attune.warnings" -}}
{{- $r := .Values.reloader -}}
{{- $d := $r.deployment -}}
{{- $budget := $r.podDisruptionBudget -}}
{{- if and (gt (int $d.replicas) 1) (not $r.enableHA) }}
* reloader.deployment.replicas is {{ $d.replicas }} without reloader.enableHA: leader election was switched on. Say enableHA=true to silence this.
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
{{- if and $budget.enabled (eq (int $d.replicas) 1) (or (eq (toString $budget.minAvailable) "1") (eq (toString $budget.maxUnavailable) "0")) }}
* The PodDisruptionBudget with one replica forbids draining its node.
{{- end }}
{{- if and $budget.enabled $budget.minAvailable (not (kindIs "invalid" $budget.maxUnavailable)) }}
* reloader.podDisruptionBudget has both maxUnavailable and minAvailable: maxUnavailable was taken.
{{- end }}
{{- if not $r.rbac.enabled }}
* reloader.rbac.enabled is false: the ServiceAccount {{ include "attune.serviceAccountName" . }} needs its rights from elsewhere.
{{- end }}
{{- if and $r.netpol.enabled ($d.env).existing }}
* reloader.netpol cannot see the URLs in env.existing: only ports 443 and 6443 are open beside DNS.
{{- end }}
{{- if $r.enablePProf }}
* reloader.enablePProf opens nothing: a profiler on the network shows memory, and so Secrets, to anybody.
{{- end }}
{{- if $d.gomaxprocsOverride }}
* reloader.deployment.gomaxprocsOverride has no effect: the program uses one thread.
{{- end }}
{{- if not (dig "limits" "memory" "" ($d.resources | default dict)) }}
* Without reloader.deployment.resources.limits.memory the heap is not bounded.
{{- end }}
{{- if and .Values.image.tag (ne (toString .Values.image.tag) .Chart.AppVersion) (not .Values.image.digest) }}
* image.tag is {{ .Values.image.tag }}, this chart is made for {{ .Chart.AppVersion }}. A tag left over from another chart?
{{- end }}
{{- range tuple "volumes" "volumeMounts" }}
{{- if get $r . }}
* reloader.{{ . }} is not read; it belongs under reloader.deployment.
{{- end }}
{{- end }}
{{- if dig "extraArgs" "" $d }}
* reloader.deployment.extraArgs is not read; use attune.extraArgs or the value of its own, such as reloader.enableCSIIntegration.
{{- end }}
{{- end -}}
