{{/*
What the API server asks about. The program makes the same from its flags (attune admission install), and a test compares them; the
conditions themselves are in files/match-conditions.json, made by scripts/manifests.mjs.
*/}}

{{/* JSON list of the kinds by the place of their pod template, as rules of a webhook; an empty one has no entry. */}}
{{- define "attune.admissionRules" -}}
{{- $r := .Values.reloader -}}
{{- $rules := list (list "apps" "v1" (list "deployments" "daemonsets" "statefulsets")) -}}
{{- if $r.isArgoRollouts -}}{{- $rules = append $rules (list "argoproj.io" "v1alpha1" (list "rollouts")) -}}{{- end -}}
{{- if not (contains "stakater" (.Values.attune.compat | default "")) -}}
{{- $rules = append $rules (list "apps.openshift.io" "v1" (list "deploymentconfigs")) -}}
{{- end -}}
{{- $cronJobs := list -}}
{{- if not $r.ignoreCronJobs -}}{{- $cronJobs = list (list "batch" "v1" (list "cronjobs")) -}}{{- end -}}
{{- dict "workloads" $rules "cronjobs" $cronJobs | toJson -}}
{{- end -}}

{{/* JSON list of expressions: the namespaces that are watched, without kube-system. */}}
{{- define "attune.admissionNamespaces" -}}
{{- $name := "kubernetes.io/metadata.name" -}}
{{- $mode := include "attune.mode" . -}}
{{- $except := list "kube-system" -}}
{{- $others := list -}}
{{- if eq $mode "global" -}}
{{- range splitList "," (.Values.reloader.ignoreNamespaces | default "") -}}
{{- with trim . -}}{{- $except = append $except . -}}{{- end -}}
{{- end -}}
{{- /* The commas inside `in (a,b)` separate values. */ -}}
{{- range regexFindAll "[^,()]+([(][^()]*[)])?" (.Values.reloader.namespaceSelector | default "") -1 -}}
{{- $others = append $others (include "attune.labelExpression" (trim .) | fromJson) -}}
{{- end -}}
{{- else -}}
{{- $others = list (dict "key" $name "operator" "In" "values" (include "attune.roleNamespaces" . | fromJsonArray)) -}}
{{- end -}}
{{- prepend $others (dict "key" $name "operator" "NotIn" "values" (uniq $except)) | toJson -}}
{{- end -}}

{{/* One requirement of a label selector (k, !k, k=v, k!=v, k:v, k:*, k in (a,b), k notin (a,b)) as JSON. */}}
{{- define "attune.labelExpression" -}}
{{- $key := regexFind "[^\\s!=:<>()]+" . -}}
{{- $rest := . | trimPrefix "!" | trim | trimPrefix $key | trim -}}
{{- $value := regexReplaceAll "^(==|!=|=|:)\\s*" $rest "" -}}
{{- if regexMatch "^[<>]" $rest -}}
{{- printf "reloader.namespaceSelector compares numbers (%s), which admission cannot. Give these namespaces a label, and select by that." . | fail -}}
{{- else if hasPrefix "!=" $rest -}}{{- dict "key" $key "operator" "NotIn" "values" (list $value) | toJson -}}
{{- else if hasPrefix "!" . -}}{{- dict "key" $key "operator" "DoesNotExist" | toJson -}}
{{- else if regexMatch "^(in|notin)\\s*[(]" $rest -}}
{{- $values := list -}}
{{- range splitList "," (regexReplaceAll "^[a-z]+\\s*[(](.*)[)]$" $rest "${1}") -}}{{- $values = append $values (trim .) -}}{{- end -}}
{{- dict "key" $key "operator" (hasPrefix "in" $rest | ternary "In" "NotIn") "values" (uniq $values) | toJson -}}
{{- else if or (not $rest) (eq $value "*") -}}{{- dict "key" $key "operator" "Exists" | toJson -}}
{{- else -}}{{- dict "key" $key "operator" "In" "values" (list $value) | toJson -}}
{{- end -}}
{{- end -}}
