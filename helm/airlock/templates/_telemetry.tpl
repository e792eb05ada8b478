{{/* The connection to the collector: configuration and files. */}}

{{/* Returns the common keys of [telemetry] of servers and runners as JSON. */}}
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

{{/* Returns the files for TLS to the collector as JSON: [[SECRET, KEY, FILE], ...]. */}}
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

{{/* Returns a volume with keys of several Secrets. Arguments: (list NAME FILES). */}}
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
