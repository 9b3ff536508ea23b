{{/* What the program watches and how many copies run: every other template asks here, nobody asks the values again. */}}

{{/* "true" or nothing, for a switch: true, or the word that `--set-string` makes of it. */}}
{{- define "attune.isOn" -}}
{{- if eq (toString .) "true" -}}true{{- end -}}
{{- end -}}

{{/* "true" or nothing: null and "" are as good as not written, 0 and false are not. */}}
{{- define "attune.isGiven" -}}
{{- if not (or (kindIs "invalid" .) (eq (toString .) "")) -}}true{{- end -}}
{{- end -}}

{{/* As the user says, here or by SAP's name. Otherwise one; with admission two, for with one nobody answers while its node is drained. */}}
{{- define "attune.replicas" -}}
{{- $asked := .Values.reloader.deployment.replicas -}}
{{- if include "attune.isGiven" .Values.replicaCount -}}{{- $asked = .Values.replicaCount -}}{{- end -}}
{{- if include "attune.isGiven" $asked -}}{{- int $asked -}}
{{- else if include "attune.admits" . -}}2
{{- else -}}1
{{- end -}}
{{- end -}}

{{/* "true" or nothing. More than one replica is only safe with an election, so asking for replicas asks for it; so does admission, which is replaced without a gap. */}}
{{- define "attune.highlyAvailable" -}}
{{- if or .Values.reloader.enableHA (gt (include "attune.replicas" . | int) 1) (include "attune.admits" .) -}}true{{- end -}}
{{- end -}}

{{/* "true" or nothing. On unless it is switched off, as the program has it; who only calls a webhook reloads nothing. */}}
{{- define "attune.followsConfigs" -}}
{{- if not (or .Values.reloader.webhookUrl (eq (toString ((.Values.attune).reloaderConfig).enabled) "false")) -}}true{{- end -}}
{{- end -}}

{{/* "true" or nothing: whether ReloaderConfigs may have pods evicted. */}}
{{- define "attune.evicts" -}}
{{- if include "attune.followsConfigs" . -}}{{- include "attune.isOn" ((.Values.attune).reloaderConfig).restart -}}{{- end -}}
{{- end -}}

{{/* The PodDisruptionBudget as it was asked for, here or by SAP's names; its chart has one as soon as there are two replicas, and so has admission. */}}
{{- define "attune.budget" -}}
{{- $ours := .Values.reloader.podDisruptionBudget | default dict -}}
{{- $theirs := .Values.pdb | default dict -}}
{{- $budget := pick $theirs "labels" "annotations" -}}
{{- range $bound := list "maxUnavailable" "minAvailable" -}}
{{- $value := get $ours $bound -}}
{{- if not (include "attune.isGiven" $value) -}}{{- $value = get $theirs $bound -}}{{- end -}}
{{- if include "attune.isGiven" $value -}}{{- $_ := set $budget $bound $value -}}{{- end -}}
{{- end -}}
{{- $wanted := include "attune.isOn" $ours.enabled -}}
{{- if and (not (include "attune.isGiven" $ours.enabled)) (gt (include "attune.replicas" . | int) 1) -}}
{{- $wanted = include "attune.isOn" $theirs.enabled -}}
{{- if not (include "attune.isGiven" $theirs.enabled) -}}{{- $wanted = include "attune.admits" . -}}{{- end -}}
{{- end -}}
{{- if $wanted -}}{{- set $budget "enabled" true | toYaml -}}{{- end -}}
{{- end -}}

{{/* JSON list of the namespaces to watch, own one included; empty in the other modes. */}}
{{- define "attune.namespaces" -}}
{{- $asked := .Values.reloader.namespaces -}}
{{- if kindIs "string" $asked -}}{{- $asked = splitList "," $asked -}}{{- end -}}
{{- $names := list -}}
{{- range $asked -}}
{{- with trim . -}}{{- $names = append $names . -}}{{- end -}}
{{- end -}}
{{- if $names -}}{{- $names = append $names (include "attune.namespace" .) -}}{{- end -}}
{{- $names | sortAlpha | uniq | toJson -}}
{{- end -}}

{{/* global, single or scoped. */}}
{{- define "attune.mode" -}}
{{- if .Values.reloader.watchGlobally -}}global
{{- else if include "attune.namespaces" . | fromJsonArray -}}scoped
{{- else -}}single
{{- end -}}
{{- end -}}

{{/* JSON list of the namespaces in which Roles are needed; empty in global mode. */}}
{{- define "attune.roleNamespaces" -}}
{{- $mode := include "attune.mode" . -}}
{{- if eq $mode "scoped" -}}{{- include "attune.namespaces" . -}}
{{- else if eq $mode "single" -}}{{- include "attune.namespace" . | list | toJson -}}
{{- else -}}[]
{{- end -}}
{{- end -}}

{{/* Values that cannot work stop here, with the cure. Those that merely have no effect are told in NOTES.txt. */}}
{{- define "attune.check" -}}
{{- if kindIs "invalid" .Values.attune -}}
{{- fail "The defaults of this chart are missing, as after `helm upgrade --reuse-values` on a release of another chart. Use --reset-then-reuse-values, or --reset-values with --values." -}}
{{- end -}}
{{- $image := printf "%s %s" .Values.image.repository .Values.image.name -}}
{{- with regexFind "(^|[/ ])(stakater/reloader|sap/pod-reloader)($|[@: -])" $image | regexFind "[a-z]+/[a-z-]*[a-z]" -}}
{{- printf "image.repository or image.name still names %s, which is another program. Remove both from your values, or set them to the place of Attune's image. Where helm remembers them: --reset-then-reuse-values with --set image.repository=REGISTRY/attune,image.name=attune." . | fail -}}
{{- end -}}
{{- if and (eq .Values.image.repository "attune") (not .Values.global.imageRegistry) (or .Values.image.digest (regexMatch "^v[01][.]" (toString .Values.image.tag))) -}}
{{- fail "image.tag or image.digest is set and image.repository is not: they are left over from another program's image. Remove both from your values, and set image.repository to the place of Attune's image." -}}
{{- end -}}
{{- if and .Values.reloader.ignoreSecrets .Values.reloader.ignoreConfigMaps -}}
{{- fail "reloader.ignoreSecrets and reloader.ignoreConfigMaps are both true: nothing would be left to watch. Set one of them to false." -}}
{{- end -}}
{{- if and .Values.reloader.watchGlobally (include "attune.namespaces" . | fromJsonArray) -}}
{{- fail "reloader.namespaces limits what is watched, reloader.watchGlobally does not. Set reloader.watchGlobally=false, or empty reloader.namespaces." -}}
{{- end -}}
{{- with include "attune.sapRefusals" . | trim -}}
{{- printf "These values are of SAP pod-reloader's chart and mean nothing here:\n%s" . | fail -}}
{{- end -}}
{{- if include "attune.admits" . -}}
{{- if .Values.reloader.webhookUrl -}}
{{- fail "attune.admission.enabled keeps what a rollout left on a workload, and with reloader.webhookUrl nothing is rolled. Remove one of them." -}}
{{- end -}}
{{- if and (include "attune.certManaged" .) (not ((.Values.attune.admission.certManager).issuerRef).name) -}}
{{- fail "attune.admission.certManager needs issuerRef.name, an Issuer or ClusterIssuer of yours. Without one, leave certManager off: Attune then makes certificates of its own and renews them." -}}
{{- end -}}
{{- end -}}
{{- with .Values.reloader.webhookUrl -}}
{{- /* What some tool fills in after rendering is let through. */ -}}
{{- if not (regexMatch "^\\s*((?i:https?://)|[<$%{])" .) -}}
{{- fail "reloader.webhookUrl has no scheme. Begin it with http:// or https://." -}}
{{- end -}}
{{- end -}}
{{- end -}}
