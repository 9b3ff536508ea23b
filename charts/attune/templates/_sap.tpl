{{/* The values of SAP pod-reloader's chart, which stand at the top: taken where they mean the same, refused with the cure where not. */}}

{{/* The values of reloader.deployment, with SAP's names for them in it. Where both are given, SAP's counts. */}}
{{- define "attune.deployment" -}}
{{- $names := dict "podLabels" "labels" "podSecurityContext" "securityContext" "securityContext" "containerSecurityContext" -}}
{{- range splitList " " "nodeSelector affinity topologySpreadConstraints tolerations priorityClassName resources dnsPolicy hostNetwork" -}}
{{- $_ := set $names . . -}}
{{- end -}}
{{- $taken := dict "pod" (dict "annotations" (.Values.podAnnotations | default dict)) -}}
{{- range $theirs, $ours := $names -}}
{{- with get $.Values $theirs -}}{{- $_ := set $taken $ours . -}}{{- end -}}
{{- end -}}
{{- set (mergeOverwrite (deepCopy .Values.reloader.deployment) $taken) "replicas" (include "attune.replicas" . | int) | toYaml -}}
{{- end -}}

{{/* Sentences about SAP's values that mean nothing here, or not the same. Those that say what its chart says anyway are let through. */}}
{{- define "attune.sapRefusals" -}}
{{- $webhook := .Values.webhook | default dict -}}
{{- $selectors := dict -}}
{{- range $name := list "objectSelector" "namespaceSelector" -}}
{{- $selector := get $webhook $name | default dict -}}
{{- if or $selector.matchLabels $selector.matchExpressions -}}{{- $_ := set $selectors $name true -}}{{- end -}}
{{- end -}}
{{- if $selectors.namespaceSelector }}
* webhook.namespaceSelector: write the same as text into reloader.namespaceSelector ("tier in (web,api)"), or the names of namespaces to leave out into reloader.ignoreNamespaces. Here it holds for watching as well as for admission.
{{- end }}
{{- if $selectors.objectSelector }}
* webhook.objectSelector: there is none here. Label the workloads to leave out with pod-reloader.cs.sap.com/disabled: "true".
{{- end }}
{{- if $webhook.matchConditions }}
* webhook.matchConditions: they are generated here, and workloads that did not ask cost no call. Label the workloads to leave out with pod-reloader.cs.sap.com/disabled: "true".
{{- end }}
{{- $certManager := $webhook.certManager | default dict }}
{{- if or (include "attune.isOn" $certManager.enabled) $certManager.issuerName $certManager.issuerKind $certManager.issuerGroup }}
* webhook.certManager: it is attune.admission.certManager, with enabled and issuerRef.name, .kind and .group. Without cert-manager Attune makes certificates of its own and renews them.
{{- end }}
{{- range $key, $value := omit $webhook "objectSelector" "namespaceSelector" "matchConditions" "certManager" }}
* webhook.{{ $key }}: it is not known here. What concerns admission is under attune.admission.
{{- end }}
{{- range $key := list "defaultHostNameSpreadPolicy" "defaultZoneSpreadPolicy" }}
{{- with get $.Values $key }}
{{- if ne . "ScheduleAnyway" }}
* {{ $key }}: write the constraint into reloader.deployment.topologySpreadConstraints, with whenUnsatisfiable: {{ . }}.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
