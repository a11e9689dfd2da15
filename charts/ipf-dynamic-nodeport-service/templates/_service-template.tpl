{{/* A Service template for creators. `root`; `selector`, the label that is the pod's name. */}}
{{- define "ipf-dynamic-nodeport-service.serviceTemplate" -}}
{{- $service := .root.Values.creator.serviceTemplate -}}
{{- $podName := "{{PodName}}" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ $podName }}
  {{- with $service.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: NodePort
  externalTrafficPolicy: {{ $service.externalTrafficPolicy }}
  internalTrafficPolicy: {{ $service.internalTrafficPolicy }}
  publishNotReadyAddresses: {{ $service.publishNotReadyAddresses }}
  {{- with $service.spec }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  selector:
    {{ .selector }}: {{ $podName }}
  ports:
    {{- range $service.ports }}
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ default .port .targetPort }}
      protocol: {{ default "TCP" .protocol }}
      nodePort: {{ default 0 .nodePort }}
      {{- with .appProtocol }}
      appProtocol: {{ . }}
      {{- end }}
    {{- end }}
{{- end }}
