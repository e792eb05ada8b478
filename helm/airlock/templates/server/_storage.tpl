{{/* The store and the outputs outside the server's own volume: configuration, files, ports. */}}

{{/* Returns [store.postgres] as JSON. */}}
{{- define "airlock.postgres" -}}
{{- with .Values.store.postgres -}}
{{- $table := merge (dict "url" .url "sslmode" .sslmode) .config -}}
{{- if .passwordSecret.name }}{{ $_ := set $table "password_file" "/etc/airlock/postgres/password" }}{{ end -}}
{{- if .caSecret.name }}{{ $_ := set $table "ca" "/etc/airlock/postgres/ca.crt" }}{{ end -}}
{{- if .certificateSecret -}}
{{- $_ := set $table "certificate" "/etc/airlock/postgres/tls.crt" -}}
{{- $_ := set $table "key" "/etc/airlock/postgres/tls.key" -}}
{{- end -}}
{{ toJson $table }}
{{- end -}}
{{- end -}}

{{/* Returns [outputs.s3] as JSON. */}}
{{- define "airlock.s3" -}}
{{- with .Values.outputs.s3 -}}
{{- $table := merge (dict "bucket" .bucket "region" .region) .config -}}
{{- if .endpoint }}{{ $_ := set $table "endpoint" .endpoint }}{{ end -}}
{{- if .prefix }}{{ $_ := set $table "prefix" .prefix }}{{ end -}}
{{- if .caSecret.name }}{{ $_ := set $table "ca" "/etc/airlock/s3/ca.crt" }}{{ end -}}
{{- if .credentialsSecret.name -}}
{{- $_ := set $table "access_key_id_file" "/etc/airlock/s3/access_key_id" -}}
{{- $_ := set $table "secret_access_key_file" "/etc/airlock/s3/secret_access_key" -}}
{{- end -}}
{{ toJson $table }}
{{- end -}}
{{- end -}}

{{/* Returns the volumes with files for both and for telemetry as JSON: {NAME: [[SECRET, KEY, FILE], ...]}. */}}
{{- define "airlock.storage.files" -}}
{{- $volumes := dict -}}
{{- $files := list -}}
{{- with .Values.store.postgres -}}
{{- if eq $.Values.store.backend "postgres" -}}
{{- if .passwordSecret.name }}{{ $files = append $files (list .passwordSecret.name .passwordSecret.key "password") }}{{ end -}}
{{- if .caSecret.name }}{{ $files = append $files (list .caSecret.name .caSecret.key "ca.crt") }}{{ end -}}
{{- if .certificateSecret -}}
{{- $files = append $files (list .certificateSecret "tls.crt" "tls.crt") -}}
{{- $files = append $files (list .certificateSecret "tls.key" "tls.key") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $files }}{{ $_ := set $volumes "postgres" $files }}{{ end -}}
{{- $files = list -}}
{{- with .Values.outputs.s3 -}}
{{- if eq $.Values.outputs.backend "s3" -}}
{{- if .caSecret.name }}{{ $files = append $files (list .caSecret.name .caSecret.key "ca.crt") }}{{ end -}}
{{- with .credentialsSecret -}}
{{- if .name -}}
{{- $files = append $files (list .name .accessKeyIdKey "access_key_id") -}}
{{- $files = append $files (list .name .secretAccessKeyKey "secret_access_key") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $files }}{{ $_ := set $volumes "s3" $files }}{{ end -}}
{{- $files = include "airlock.telemetry.files" . | fromJsonArray -}}
{{- if $files }}{{ $_ := set $volumes "telemetry" $files }}{{ end -}}
{{ toJson $volumes }}
{{- end -}}

{{/* Returns the ports of both for network policies as JSON: [PORT, ...]. */}}
{{- define "airlock.storage.ports" -}}
{{- $ports := list -}}
{{- if eq .Values.store.backend "postgres" -}}
{{- $host := urlParse .Values.store.postgres.url | dig "host" "" -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" $host | trimPrefix ":" | default "5432" | int) -}}
{{- end -}}
{{- if eq .Values.outputs.backend "s3" -}}
{{- $url := urlParse (default "https://s3" .Values.outputs.s3.endpoint) -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) | int) -}}
{{- end -}}
{{ toJson $ports }}
{{- end -}}
