{{/* Admission: whether, by what name, with which arguments. */}}

{{/* "true" or nothing. */}}
{{- define "attune.admits" -}}
{{- include "attune.isOn" ((.Values.attune).admission).enabled -}}
{{- end -}}

{{/* One name for the MutatingWebhookConfiguration and the Service; that of the Secret is made from it. The program hears it in ATTUNE_ADMISSION_NAME. */}}
{{- define "attune.admissionName" -}}
{{- ((.Values.reloader.deployment.env).open).ATTUNE_ADMISSION_NAME | default (printf "%s-admission" (include "attune.fullname" . | trunc 48 | trimSuffix "-")) -}}
{{- end -}}

{{/* Where the certificate of cert-manager is mounted, and its Secret: never the one in which Attune keeps its own. */}}
{{- define "attune.certDir" -}}/etc/attune/admission{{- end -}}
{{- define "attune.managedSecret" -}}{{ include "attune.admissionName" . }}-tls{{- end -}}

{{/* "true" or nothing. */}}
{{- define "attune.certManaged" -}}
{{- if and (include "attune.admits" .) (include "attune.isOn" (.Values.attune.admission.certManager).enabled) -}}true{{- end -}}
{{- end -}}

{{- define "attune.admissionArgs" -}}
{{- if include "attune.admits" . }}
{{- $a := .Values.attune.admission }}
- "--admission=true"
{{- with $a.failurePolicy }}
- {{ printf "--admission-failure-policy=%s" . | quote }}
{{- end }}
{{- if eq (toString $a.marks) "false" }}
- "--admission-marks=false"
{{- end }}
{{- with $a.certLife }}
- {{ printf "--admission-cert-life=%s" . | quote }}
{{- end }}
{{- if include "attune.certManaged" . }}
- {{ printf "--admission-cert-dir=%s" (include "attune.certDir" .) | quote }}
{{- end }}
{{- if include "attune.isGiven" $a.drain }}
- {{ printf "--drain=%s" (toString $a.drain) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
Seconds until the kubelet kills. Shutting down takes up to 7 s: writes in flight end, the lease is released, and nothing waits for
a server that is silent. Admission is served on before that, for the drain; parts of a second are rounded up.
*/}}
{{- define "attune.graceSeconds" -}}
{{- $grace := 15 -}}
{{- if include "attune.admits" . -}}
{{- $drain := .Values.attune.admission.drain | toString | default "10s" -}}
{{- $start := toDate "2006-01-02" "2000-01-01" -}}
{{- $end := $start | mustDateModify (eq $drain "<nil>" | ternary "10s" $drain) | mustDateModify "999ms" -}}
{{- $grace = add $grace (sub (unixEpoch $end | int64) (unixEpoch $start | int64)) -}}
{{- end -}}
{{- $grace -}}
{{- end -}}
