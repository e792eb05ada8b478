{{/* Values as TOML. */}}

{{/* A value; numbers of YAML are floats by now, so that those without a fraction are written as they were. */}}
{{- define "airlock.toml.value" -}}
{{- if kindIs "string" . -}}
{{ toJson . }}
{{- else if kindIs "float64" . -}}
{{- ternary (printf "%d" (int64 .)) (toString .) (eq . (floor .)) -}}
{{- else if kindIs "slice" . -}}
[{{ range $index, $one := . }}{{ if $index }}, {{ end }}{{ include "airlock.toml.value" $one }}{{ end }}]
{{- else -}}
{{ toString . }}
{{- end -}}
{{- end -}}

{{/* KEY = VALUE, a line each. */}}
{{- define "airlock.toml.lines" -}}
{{- range $key, $value := . }}
{{ ternary $key (toJson $key) (regexMatch "^[A-Za-z0-9_-]+$" $key) }} = {{ include "airlock.toml.value" $value }}
{{- end }}
{{- end -}}

{{/* (list NAME table): nothing, where the table is empty. */}}
{{- define "airlock.toml.table" -}}
{{- if index . 1 }}

[{{ index . 0 }}]
{{- include "airlock.toml.lines" (index . 1) }}
{{- end }}
{{- end -}}
