{{/* Roles, their bindings, and the rules in them: those of permissions/ in the repository. */}}

{{/* The documented rules, for creators and watcher alike. */}}
{{- define "ipf-dynamic-nodeport-service.documentedRules" -}}
- apiGroups: [""]
  resources: ["services"]
  verbs: ["get", "list", "watch", "delete", "create"]
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get", "list", "watch", "patch"]
- apiGroups: [""]
  resources: ["configmaps"]
  verbs: ["get"]
{{- end }}

{{- define "ipf-dynamic-nodeport-service.creatorRules" -}}
{{- $may := .Values.creator.permissions -}}
- apiGroups: [""]
  resources: ["services"]
  verbs: ["create", "get"]
{{- if $may.podLabel }}
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["patch"]
{{- end }}
{{- if $may.configMap }}
- apiGroups: [""]
  resources: ["configmaps"]
  resourceNames: [{{ .Values.creator.template.configMap | quote }}]
  verbs: ["get"]
{{- end }}
{{- if or $may.pod $may.replace }}
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get"]
{{- end }}
{{- if $may.replace }}
- apiGroups: [""]
  resources: ["services"]
  verbs: ["delete"]
{{- end }}
{{- end }}

{{- define "ipf-dynamic-nodeport-service.watcherRules" -}}
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get", "list", "watch"]
- apiGroups: [""]
  resources: ["services"]
  verbs: ["get", "list", "watch", "delete"]
{{- end }}

{{- define "ipf-dynamic-nodeport-service.eventRules" -}}
- apiGroups: [""]
  resources: ["events"]
  verbs: ["create"]
{{- end }}

{{/* Of NetService, save the lease, which is in one namespace whatever is watched. */}}
{{- define "ipf-dynamic-nodeport-service.netServiceRules" -}}
- apiGroups: ["netservice.io", "svcctl.metaswitch.com"]
  resources: ["netservices"]
  verbs: ["get", "list", "watch"]
- apiGroups: ["netservice.io", "svcctl.metaswitch.com"]
  resources: ["netservices/status"]
  verbs: ["patch"]
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get", "list", "watch"]
- apiGroups: [""]
  resources: ["services"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
- apiGroups: ["discovery.k8s.io"]
  resources: ["endpointslices"]
  verbs: ["get", "list", "watch", "create", "patch", "delete"]
- apiGroups: [""]
  resources: ["events"]
  verbs: ["create"]
{{- end }}

{{- define "ipf-dynamic-nodeport-service.leaseRules" -}}
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  resourceNames: ["ipf-dynamic-nodeport-service-net-service"]
  verbs: ["get", "patch"]
{{- end }}

{{- define "ipf-dynamic-nodeport-service.nodeRules" -}}
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["get"]
{{- end }}

{{/*
A role and its binding. `root`; `name`; `namespace`, or none for a ClusterRole; `rules`, as text; `subjects`, a list of
`name` and `namespace` of accounts.
*/}}
{{- define "ipf-dynamic-nodeport-service.grant" -}}
{{- $kind := ternary "Role" "ClusterRole" (hasKey . "namespace") -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "ipf-dynamic-nodeport-service.labels" .root | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "ipf-dynamic-nodeport-service.labels" .root | nindent 4 }}
subjects:
  {{- range .subjects }}
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ .namespace }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
{{- end }}

{{/* A service account. `root`, `name`, `namespace`, `annotations`; `automount`, whether pods get its token unasked. */}}
{{- define "ipf-dynamic-nodeport-service.account" -}}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "ipf-dynamic-nodeport-service.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if not .automount }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* The namespaces that creators run in, and those that are watched, as JSON. */}}
{{- define "ipf-dynamic-nodeport-service.creatorNamespaces" -}}
{{- if .Values.creator.enabled }}
{{- default (list .Release.Namespace) .Values.creator.namespaces | uniq | toJson }}
{{- else }}[]{{ end }}
{{- end }}

{{- define "ipf-dynamic-nodeport-service.watchedNamespaces" -}}
{{- if and .Values.watcher.enabled (not .Values.watcher.allNamespaces) }}
{{- default (list .Release.Namespace) .Values.watcher.namespaces | uniq | toJson }}
{{- else }}[]{{ end }}
{{- end }}
