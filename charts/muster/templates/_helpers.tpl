{{/* The name of everything that the release makes. A Service's may hold no dots, which a release's may. */}}
{{- define "muster.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- $full = .Values.fullnameOverride | default $full | replace "." "-" | trunc 50 | trimSuffix "-" -}}
{{- if regexMatch "^[0-9]" $full -}}
  {{- fail (printf "the name \"%s\" begins with a digit, which the API server refuses in a Service. Set fullnameOverride to one that begins with a letter." $full) -}}
{{- end -}}
{{- $full -}}
{{- end -}}

{{- define "muster.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "muster.labels" -}}
{{ include "muster.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Labels and annotations of an object: the chart's own, then `labels` and `annotations`, then what all objects get. */}}
{{- define "muster.marks" -}}
{{- $own := include "muster.labels" .root | fromYaml -}}
{{- $labels := .root.Values.commonLabels | default dict -}}
{{- range $label, $_ := $labels -}}
  {{- if hasKey $own $label -}}
    {{- fail (printf "commonLabels: the chart sets %s itself. Leave it out." $label) -}}
  {{- end -}}
{{- end -}}
labels:
  {{- toYaml (merge $own (.labels | default dict) $labels) | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The image. `scheduler.image` is one string, as in scheduler-plugins' chart and in earlier releases. */}}
{{- define "muster.image" -}}
{{- $image := .Values.image -}}
{{- if not .Values.scheduler.image -}}
  {{- $tag := $image.tag | default (empty $image.digest | ternary .Chart.AppVersion "") -}}
  {{- $image.repository -}}{{- with $tag }}:{{ . }}{{ end -}}{{- with $image.digest }}@{{ . }}{{ end -}}
{{- else if or $image.tag $image.digest (ne $image.repository .Chart.Name) -}}
  {{- fail (printf "scheduler.image is %q, and image.repository, image.tag or image.digest is set too: name the image in one way. An upgrade from the first to the others needs --set scheduler.image=null." .Values.scheduler.image) -}}
{{- else -}}
  {{- .Values.scheduler.image -}}
{{- end -}}
{{- end -}}

{{/* A probe of one of the health pages: `page`, and `times` that may be overridden. */}}
{{- define "muster.probe" -}}
httpGet:
  path: {{ .page }}
  port: serving
  scheme: {{ .root.Values.serving.plainHttp | ternary "HTTP" "HTTPS" }}
{{ toYaml .times }}
{{- end -}}

{{- define "muster.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "muster.fullname" .) "default") -}}
{{- end -}}

{{/* The KubeSchedulerConfiguration: `config`, and below it what the other values come to. */}}
{{- define "muster.config" -}}
{{- $given := .Values.config | default dict -}}
{{- $plugins := .Values.plugins | default dict -}}
{{- $enabled := $plugins.enabled | default list -}}
{{- $disabled := $plugins.disabled | default list -}}
{{- if not $given.profiles -}}
  {{- if and (has "PrioritySort" $disabled) (not $enabled) -}}
    {{- fail "plugins.disabled: without PrioritySort nothing sorts the queue. Enable Coscheduling, or set plugins.disabled to []." -}}
  {{- end -}}
  {{- if and (has "Coscheduling" $enabled) (not (has "PrioritySort" $disabled)) (not (has "*" $disabled)) -}}
    {{- fail "plugins.enabled: Coscheduling sorts the queue, and so does PrioritySort. Add PrioritySort to plugins.disabled." -}}
  {{- end -}}
{{- end -}}
{{- $multiPoint := dict -}}
{{- range $part, $names := .Values.plugins -}}
  {{- $plugins := list -}}
  {{- range $names -}}
    {{- $plugins = append $plugins (dict "name" .) -}}
  {{- end -}}
  {{- if $plugins -}}
    {{- $_ := set $multiPoint $part $plugins -}}
  {{- end -}}
{{- end -}}
{{- $pluginConfig := .Values.pluginConfig | default list -}}
{{- if .Values.podGroups.auto -}}
  {{- if $given.profiles -}}
    {{- fail "podGroups.auto: config.profiles replaces it. Enable AutoPodGroups in these profiles instead." -}}
  {{- end -}}
  {{- if has "AutoPodGroups" $enabled -}}
    {{- fail "podGroups.auto: plugins.enabled names AutoPodGroups too. Leave it out there." -}}
  {{- end -}}
  {{- range $pluginConfig -}}
    {{- if eq .name "AutoPodGroups" -}}
      {{- fail "podGroups.auto: pluginConfig has arguments of AutoPodGroups too. Set podGroups.auto to \"\", and enable AutoPodGroups in plugins.enabled." -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set $multiPoint "enabled" (append ($multiPoint.enabled | default list) (dict "name" "AutoPodGroups")) -}}
  {{- $auto := dict "namespaces" .Values.podGroups.auto "apiGroup" .Values.podGroups.apiGroup -}}
  {{- $pluginConfig = append $pluginConfig (dict "name" "AutoPodGroups" "args" $auto) -}}
{{- end -}}
{{- $profiles := list -}}
{{- range (.Values.schedulerNames | default (list .Values.scheduler.name)) -}}
  {{- $profile := dict "schedulerName" . "plugins" (dict "multiPoint" $multiPoint) -}}
  {{- if $pluginConfig -}}
    {{- $_ := set $profile "pluginConfig" $pluginConfig -}}
  {{- end -}}
  {{- $profiles = append $profiles $profile -}}
{{- end -}}
{{- $election := dict
      "leaderElect" .Values.scheduler.leaderElect
      "resourceName" (include "muster.fullname" .)
      "resourceNamespace" .Release.Namespace -}}
{{- range $field, $value := $given.leaderElection -}}
  {{- $_ := set $election $field $value -}}
{{- end -}}
{{- $config := dict
      "apiVersion" "kubescheduler.config.k8s.io/v1"
      "kind" "KubeSchedulerConfiguration"
      "profiles" $profiles -}}
{{- range $field, $value := $given -}}
  {{- $_ := set $config $field $value -}}
{{- end -}}
{{- $_ := set $config "leaderElection" $election -}}
{{- if and (gt (int .Values.scheduler.replicaCount) 1) (not $election.leaderElect) -}}
  {{- fail (printf "scheduler.replicaCount is %d and leader election is off: the replicas would bind each other's pods. Set scheduler.leaderElect=true or scheduler.replicaCount=1." (int .Values.scheduler.replicaCount)) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The names that pods may put into spec.schedulerName, as a JSON list. */}}
{{- define "muster.schedulerNames" -}}
{{- $names := list -}}
{{- range (include "muster.config" . | fromYaml).profiles -}}
  {{- $names = append $names .schedulerName -}}
{{- end -}}
{{- toJson $names -}}
{{- end -}}

{{/* The Secret that the webhook serves with. */}}
{{- define "muster.webhookSecret" -}}
{{- include "muster.fullname" . }}-webhook
{{- end -}}

{{/* What selects this release's series in Prometheus: a Service gives its name to the job that scrapes it. */}}
{{- define "muster.series" -}}
namespace="{{ .Release.Namespace }}",job="{{ include "muster.fullname" . }}"
{{- end -}}
