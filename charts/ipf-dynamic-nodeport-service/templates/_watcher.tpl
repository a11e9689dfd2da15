{{/* The watcher's objects have these labels beside the release's. `root`; `namespace`, where one of several is watched. */}}
{{- define "ipf-dynamic-nodeport-service.watcherSelectorLabels" -}}
{{ include "ipf-dynamic-nodeport-service.selectorLabels" .root }}
app.kubernetes.io/component: watcher
{{- with .namespace }}
ipf-dynamic-nodeport-service/watched-namespace: {{ . }}
{{- end }}
{{- end }}

{{- define "ipf-dynamic-nodeport-service.watcherLabels" -}}
{{ include "ipf-dynamic-nodeport-service.labels" .root }}
app.kubernetes.io/component: watcher
{{- with .namespace }}
ipf-dynamic-nodeport-service/watched-namespace: {{ . }}
{{- end }}
{{- end }}

{{/* Its name; no longer than that of a CronJob may be. */}}
{{- define "ipf-dynamic-nodeport-service.watcherName" -}}
{{- $name := printf "%s-watcher" (include "ipf-dynamic-nodeport-service.fullname" .root) }}
{{- if .namespace }}
{{- $name = printf "%s-%s" $name .namespace }}
{{- end }}
{{- if gt (len $name) 52 }}
{{- $name = printf "%s-%s" ($name | trunc 43 | trimSuffix "-") ($name | sha256sum | trunc 8) }}
{{- end }}
{{- $name }}
{{- end }}

{{/* Its arguments: see the pod. */}}
{{- define "ipf-dynamic-nodeport-service.watcherArgs" -}}
{{- $watcher := .root.Values.watcher -}}
{{- if $watcher.allNamespaces }}
- --all-namespaces
{{- end }}
{{- with .namespace }}
- --namespace={{ . }}
{{- end }}
- {{ printf "--pod-selector=%s" $watcher.podSelector | quote }}
- {{ printf "--service-selector=%s" $watcher.serviceSelector | quote }}
{{- if not .once }}
- --scan-interval={{ $watcher.scanInterval }}
{{- end }}
- --grace={{ $watcher.grace }}
- --release-delay={{ $watcher.releaseDelay }}
{{- $controllers := $watcher.controllers }}
{{- if and .root.Values.netService.enabled (not .once) }}
{{- $controllers = append $controllers "net-service" }}
{{- end }}
- --controllers={{ join "," $controllers }}
{{- if or $watcher.dryRun .dryRun }}
- --dry-run
{{- end }}
{{- if .once }}
- --once
{{- else }}
- {{ printf "--listen=%s" (include "ipf-dynamic-nodeport-service.watcherListen" .root) | quote }}
{{- end }}
- --log-format={{ $watcher.logFormat }}
- --log-level={{ $watcher.logLevel }}
{{- end }}

{{/* Where it serves; YAML makes `false` of an unquoted `off`. */}}
{{- define "ipf-dynamic-nodeport-service.watcherListen" -}}
{{- default "off" .Values.watcher.listen }}
{{- end }}

{{/* Its pods. `root`; `namespace`; `once`, for a pod that scans and ends; `dryRun`, for one that deletes nothing whatever the values say. */}}
{{- define "ipf-dynamic-nodeport-service.watcherPod" -}}
{{- $watcher := .root.Values.watcher -}}
{{- $listen := include "ipf-dynamic-nodeport-service.watcherListen" .root -}}
{{- $serves := not (or .once (eq $listen "off")) -}}
metadata:
  labels:
    {{- include "ipf-dynamic-nodeport-service.watcherLabels" . | nindent 4 }}
    app: ipf-dynamic-nodeport-service-watcher
    {{- with $watcher.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- $annotations := $watcher.podAnnotations }}
  {{- if and $serves $watcher.monitoring.annotations }}
  {{- $annotations = merge (dict "prometheus.io/scrape" "true" "prometheus.io/port" (regexFind "[0-9]+$" $listen) "prometheus.io/path" "/metrics") $annotations }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "ipf-dynamic-nodeport-service.watcherAccount" .root }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  # With thousands of Services their variables keep containers from starting.
  enableServiceLinks: false
  # It ends within a second.
  terminationGracePeriodSeconds: 5
  {{- if .once }}
  restartPolicy: Never
  {{- end }}
  {{- with $watcher.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $watcher.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $watcher.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $watcher.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $watcher.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $watcher.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: service-watcher
      image: {{ include "ipf-dynamic-nodeport-service.image" (dict "root" .root "image" $watcher.image) }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: ["/ipf-dynamic-nodeport-service-watcher"]
      args:
        {{- include "ipf-dynamic-nodeport-service.watcherArgs" . | trim | nindent 8 }}
      {{- if $serves }}
      ports:
        - name: metrics
          containerPort: {{ regexFind "[0-9]+$" $listen }}
      # Answers while the program runs, whatever the API server does: a restart would not bring that back.
      livenessProbe:
        httpGet:
          path: /livez
          port: metrics
        periodSeconds: 10
        timeoutSeconds: 2
      # Answers 200 once both watches have listed, and while neither is down for longer than 30 s.
      readinessProbe:
        httpGet:
          path: /readyz
          port: metrics
        periodSeconds: 5
        timeoutSeconds: 2
      {{- end }}
      {{- with $watcher.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $watcher.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}

{{/* What there is a watcher for, as JSON: "" for the release's namespace or all of them, else the names of namespaces. */}}
{{- define "ipf-dynamic-nodeport-service.watchers" -}}
{{- if not .Values.watcher.enabled }}[]
{{- else if or .Values.watcher.allNamespaces (empty .Values.watcher.namespaces) }}[""]
{{- else }}{{ uniq .Values.watcher.namespaces | toJson }}
{{- end }}
{{- end }}
