{{/* Conversion of values to TOML. */}}

{{/* Returns a value. Numbers from YAML are floats, so numbers without a fraction are written as integers. */}}
{{- define "airlock.toml.value" -}}
{{- if kindIs "string" . -}}
{{ toJson . }}
{{- else if kindIs "float64" . -}}
{{- ternary (printf "%d" (int64 .)) (toString .) (eq . (floor .)) -}}
{{- else if kindIs "slice" . -}}
[{{ range $index, $one := . }}{{ if $index }}, {{ end }}{{ include "airlock.toml.value" $one }}{{ end }}]
{{- else if kindIs "map" . -}}
{ {{- $comma := "" }}
{{- range $key, $one := . }}{{ $comma }} {{ include "airlock.toml.key" $key }} = {{ include "airlock.toml.value" $one }}{{ $comma = "," }}{{ end }} }
{{- else -}}
{{ toString . }}
{{- end -}}
{{- end -}}

{{/* Returns a key, in quotes where TOML requires it. */}}
{{- define "airlock.toml.key" -}}
{{ ternary . (toJson .) (regexMatch "^[A-Za-z0-9_-]+$" .) }}
{{- end -}}

{{/* Returns one line KEY = VALUE per entry. */}}
{{- define "airlock.toml.lines" -}}
{{- range $key, $value := . }}
{{ include "airlock.toml.key" $key }} = {{ include "airlock.toml.value" $value }}
{{- end }}
{{- end -}}

{{/* Returns a table, or nothing if it is empty. Arguments: (list NAME table). */}}
{{- define "airlock.toml.table" -}}
{{- if index . 1 }}

[{{ index . 0 }}]
{{- include "airlock.toml.lines" (index . 1) }}
{{- end }}
{{- end -}}
