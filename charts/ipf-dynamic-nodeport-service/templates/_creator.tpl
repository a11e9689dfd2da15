{{/*
For the charts of applications: what a pod needs for a node port of its own. Each of these takes the application chart's own
context,

    {{ include "ipf-dynamic-nodeport-service.initContainer" . }}

or that and settings for this pod, which are values of `creator`:

    {{ include "ipf-dynamic-nodeport-service.initContainer" (dict "root" . "creator" (dict "flavor" "pekko")) }}
*/}}

{{/*
What these templates are told, as JSON: `creator`, `image` and `permissions` as in values.yaml, `appVersion`. In the context of
an application's chart the values of this one are in `.Values`, by its name or alias.
*/}}
{{- define "ipf-dynamic-nodeport-service.told" -}}
{{- $root := . }}
{{- $changes := dict }}
{{- if hasKey . "root" }}
{{- $root = .root }}
{{- $changes = default dict .creator }}
{{- end }}
{{- $own := "ipf-dynamic-nodeport-service" }}
{{- $values := $root.Values }}
{{- $version := $root.Chart.AppVersion }}
{{- if ne $root.Chart.Name $own }}
{{- $values = dict }}
{{- range $name, $subchart := $root.Subcharts }}
{{- if eq $subchart.Chart.Name $own }}
{{- $values = $subchart.Values }}
{{- $version = $subchart.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- if empty $values }}{{ fail (printf "chart %s includes templates of %s: name it among its dependencies" $root.Chart.Name $own) }}{{ end }}
{{- end }}
{{- range $key, $_ := $changes }}
{{- if not (hasKey $values.creator $key) }}
{{- fail (printf "%q is none of the values of `creator` of chart %s: %s" $key $own (keys $values.creator | sortAlpha | join ", ")) }}
{{- end }}
{{- end }}
{{- $creator := mergeOverwrite (deepCopy $values.creator) $changes }}
{{- dict "creator" $creator "image" $values.image "permissions" $values.permissions "appVersion" $version | toJson }}
{{- end }}

{{/* The init container. */}}
{{- define "ipf-dynamic-nodeport-service.initContainer" -}}
{{- $told := include "ipf-dynamic-nodeport-service.told" . | fromJson -}}
{{- $creator := $told.creator -}}
{{- $root := dict "Values" $told "Chart" (dict "AppVersion" $told.appVersion) -}}
name: service-creator
image: {{ include "ipf-dynamic-nodeport-service.image" (dict "root" $root "image" $creator.image) }}
imagePullPolicy: {{ $told.image.pullPolicy }}
command: ["/ipf-dynamic-nodeport-service-creator"]
args:
  {{- if $creator.template.mount }}
  - {{ printf "--template=/etc/nodeport/%s" $creator.template.key | quote }}
  {{- else }}
  - {{ printf "--configmap=%s" $creator.template.configMap | quote }}
  - {{ printf "--configmapkey=%s" $creator.template.key | quote }}
  {{- end }}
  {{- range $creator.output }}
  - {{ printf "--output=%s" . | quote }}
  {{- end }}
  {{- range $creator.format }}
  - {{ printf "--format=%s" . | quote }}
  {{- end }}
  {{- range $creator.advertise }}
  - {{ printf "--advertise=%s" . | quote }}
  {{- end }}
  {{- with $creator.ipFamily }}
  - --ip-family={{ . }}
  {{- end }}
  - --flavor={{ $creator.flavor }}
  - --bind={{ $creator.bind }}
  - --akka-artery-management-port-name={{ $creator.arteryPortName }}
  - --akka-management-port-name={{ $creator.managementPortName }}
  - --owner-reference={{ $creator.ownerReference }}
  - --timeout={{ $creator.timeout }}
  - --log-format={{ $creator.logFormat }}
  - --log-level={{ $creator.logLevel }}
env:
  # Known to the kubelet: the creator need not read the pod for them.
  - name: HOST_IP
    valueFrom:
      fieldRef:
        fieldPath: status.hostIPs
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
  seccompProfile:
    type: RuntimeDefault
{{- with $creator.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - name: {{ $creator.volume.name }}
    mountPath: {{ $creator.volume.mountPath }}
  {{- if $creator.template.mount }}
  - name: {{ $creator.volume.name }}-service-template
    mountPath: /etc/nodeport
    readOnly: true
  {{- end }}
  - name: {{ $creator.volume.name }}-service-account
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
{{- end }}

{{/* The volumes: entries of a list. */}}
{{- define "ipf-dynamic-nodeport-service.volumes" -}}
{{- $creator := (include "ipf-dynamic-nodeport-service.told" . | fromJson).creator -}}
- name: {{ $creator.volume.name }}
  emptyDir:
    {{- with $creator.volume.medium }}
    medium: {{ . }}
    {{- end }}
    sizeLimit: {{ $creator.volume.sizeLimit }}
{{- if $creator.template.mount }}
- name: {{ $creator.volume.name }}-service-template
  configMap:
    name: {{ $creator.template.configMap }}
{{- end }}
# What Kubernetes would mount into every container. The token is bound to this pod and names it.
- name: {{ $creator.volume.name }}-service-account
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3600
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end }}

{{/* The mount of the files in the application's container: an entry of a list. */}}
{{- define "ipf-dynamic-nodeport-service.volumeMount" -}}
{{- $creator := (include "ipf-dynamic-nodeport-service.told" . | fromJson).creator -}}
- name: {{ $creator.volume.name }}
  mountPath: {{ $creator.volume.mountPath }}
  readOnly: true
{{- end }}

{{/* Fields of the pod's spec: its account, whose token only the init container gets, and no variables for each Service. */}}
{{- define "ipf-dynamic-nodeport-service.podSettings" -}}
{{- $told := include "ipf-dynamic-nodeport-service.told" . | fromJson -}}
serviceAccountName: {{ include "ipf-dynamic-nodeport-service.creatorAccount" (dict "Values" $told) }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- end }}

{{/* The label by which the watcher hears of the pod's end at once. */}}
{{- define "ipf-dynamic-nodeport-service.podLabels" -}}
product: ipfv2
{{- end }}
