{{/* The way to the collector: configuration, files. */}}

{{/* Of [telemetry] of servers and runners, as JSON. */}}
{{- define "airlock.telemetry" -}}
{{- $name := printf "%s/%s" .Release.Namespace (include "airlock.fullname" .) -}}
{{- with .Values.telemetry -}}
{{- $table := dict "service_namespace" (default $name .serviceNamespace) -}}
{{- if .otlpEndpoint }}{{ $_ := set $table "otlp_endpoint" .otlpEndpoint }}{{ end -}}
{{- if .caSecret.name }}{{ $_ := set $table "otlp_ca" "/etc/airlock/telemetry/ca.crt" }}{{ end -}}
{{- if .certificateSecret -}}
{{- $_ := set $table "otlp_certificate" "/etc/airlock/telemetry/tls.crt" -}}
{{- $_ := set $table "otlp_key" "/etc/airlock/telemetry/tls.key" -}}
{{- end -}}
{{ toJson $table }}
{{- end -}}
{{- end -}}

{{/* The files that TLS to the collector takes: [[SECRET, KEY, FILE], ...], as JSON. */}}
{{- define "airlock.telemetry.files" -}}
{{- $files := list -}}
{{- with .Values.telemetry -}}
{{- if .caSecret.name }}{{ $files = append $files (list .caSecret.name .caSecret.key "ca.crt") }}{{ end -}}
{{- if .certificateSecret -}}
{{- range list "tls.crt" "tls.key" }}{{ $files = append $files (list $.Values.telemetry.certificateSecret . .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{ toJson $files }}
{{- end -}}

{{/* (list NAME FILES): a volume with keys of several Secrets. */}}
{{- define "airlock.secretFiles" -}}
- name: {{ index . 0 }}
  projected:
    defaultMode: 0440
    sources:
      {{- range index . 1 }}
      - secret:
          name: {{ index . 0 }}
          items:
            - key: {{ index . 1 }}
              path: {{ index . 2 }}
      {{- end }}
{{- end -}}
