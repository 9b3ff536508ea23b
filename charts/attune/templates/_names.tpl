{{/* Stakater's rule when nameOverride is given, so that a release of that chart can keep its object names. */}}
{{- define "attune.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if .Values.nameOverride -}}
{{- printf "%s-%s" .Release.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "attune.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "attune.namespace" -}}
{{- .Values.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* The selector of the Deployment, equal to Stakater's: selectors are immutable, and an upgrade in place must fit. */}}
{{- define "attune.matchLabels" -}}
app: {{ include "attune.fullname" . }}
release: {{ .Release.Name | quote }}
{{- with .Values.reloader.matchLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* part-of is the same whatever the names are: by it the command line can find an installation. */}}
{{- define "attune.labels" -}}
{{ include "attune.matchLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ include "attune.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The labels above with the user's: (list context labels). Theirs win, except over the selector. */}}
{{- define "attune.labelsWith" -}}
{{- $selector := include "attune.matchLabels" (first .) | fromYaml -}}
{{- merge $selector (last . | default dict) (include "attune.labels" (first .) | fromYaml) | toYaml -}}
{{- end -}}

{{/* Without version and chart: a pod need not be replaced because these moved. */}}
{{- define "attune.podLabels" -}}
{{- $selector := include "attune.matchLabels" . | fromYaml -}}
{{- $own := dict "app.kubernetes.io/name" (include "attune.name" .) "app.kubernetes.io/instance" .Release.Name -}}
{{- merge $selector ((include "attune.deployment" . | fromYaml).labels | default dict) $own | toYaml -}}
{{- end -}}

{{- define "attune.serviceAccountName" -}}
{{- if include "attune.isOn" .Values.reloader.serviceAccount.create -}}
{{- .Values.reloader.serviceAccount.name | default (include "attune.fullname" .) -}}
{{- else -}}
{{- .Values.reloader.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "attune.image" -}}
{{- $image := .Values.image | default dict -}}
{{- $repository := $image.repository -}}
{{- if .Values.global.imageRegistry -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .Values.global.imageRegistry) $image.name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default .Chart.AppVersion | toString) -}}
{{- end -}}
{{- end -}}

{{/* Upstream accepts both spellings: plain names and {name: …}. SAP has them at the top. */}}
{{- define "attune.imagePullSecrets" -}}
{{- range concat (.Values.global.imagePullSecrets | default list) (.Values.imagePullSecrets | default list) }}
{{- if kindIs "map" . }}
- name: {{ .name }}
{{- else }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}
