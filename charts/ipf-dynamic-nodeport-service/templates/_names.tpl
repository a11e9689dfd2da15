{{/* Names, labels and images. */}}

{{- define "ipf-dynamic-nodeport-service.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* A release that is called like the chart needs no second name. */}}
{{- define "ipf-dynamic-nodeport-service.fullname" -}}
{{- $name := include "ipf-dynamic-nodeport-service.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Objects without a namespace are told apart by that of their release. */}}
{{- define "ipf-dynamic-nodeport-service.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "ipf-dynamic-nodeport-service.fullname" .) }}
{{- end }}

{{/* The part that never changes, for selectors. */}}
{{- define "ipf-dynamic-nodeport-service.selectorLabels" -}}
app.kubernetes.io/name: {{ include "ipf-dynamic-nodeport-service.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ipf-dynamic-nodeport-service.labels" -}}
{{ include "ipf-dynamic-nodeport-service.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The account of creators. */}}
{{- define "ipf-dynamic-nodeport-service.creatorAccount" -}}
{{- $default := ternary "ipf-dynamic-nodeport-service" "ipf-dynamic-nodeport-service-creator" (eq .Values.permissions.mode "documented") }}
{{- default $default .Values.creator.serviceAccount.name }}
{{- end }}

{{/* The account of the watcher. */}}
{{- define "ipf-dynamic-nodeport-service.watcherAccount" -}}
{{- $default := ternary "ipf-dynamic-nodeport-service" "ipf-dynamic-nodeport-service-watcher" (eq .Values.permissions.mode "documented") }}
{{- default $default .Values.watcher.serviceAccount.name }}
{{- end }}

{{/* The image that `.image` names, of `.root`'s registry. */}}
{{- define "ipf-dynamic-nodeport-service.image" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}
{{- .image.repository }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- with .image.digest }}@{{ . }}{{ end }}
{{- end }}
