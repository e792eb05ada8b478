{{/* Names, labels, images: what several manifests say in the same way. */}}

{{- define "airlock.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- end -}}
{{- end -}}

{{- define "airlock.labels" -}}
app.kubernetes.io/name: airlock
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Of a component: (list $ "server"), or (list $ "runner" POOL). */}}
{{- define "airlock.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: airlock
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- if gt (len .) 2 }}
airlock/pool: {{ index . 2 }}
{{- end -}}
{{- end -}}

{{/* (list $ image) */}}
{{- define "airlock.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := $image.repository -}}
{{- with $root.Values.image.registry -}}
{{- $name = printf "%s/%s" (trimSuffix "/" .) $image.repository -}}
{{- end -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $name $image.digest }}
{{- else -}}
{{ printf "%s:%s" $name (default $root.Chart.AppVersion $image.tag) }}
{{- end -}}
{{- end -}}

{{/* What every pod has. Nothing here talks to Kubernetes. */}}
{{- define "airlock.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* (list $ values): where pods go. */}}
{{- define "airlock.scheduling" -}}
{{- $values := index . 1 -}}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* The names of the server's two services; the second has an address for each server, for runners. */}}
{{- define "airlock.server" -}}
{{ include "airlock.fullname" . }}-server
{{- end -}}

{{- define "airlock.links" -}}
{{ include "airlock.fullname" . }}-links
{{- end -}}

{{/* The name that a server's certificate carries and runners obey. */}}
{{- define "airlock.serverName" -}}
{{ include "airlock.server" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "airlock.runners" -}}
{{ include "airlock.fullname" . }}-runners
{{- end -}}

{{/* Every pool with its values, and with `seats`, for how many runners there are certificates: a JSON object. */}}
{{- define "airlock.pools" -}}
{{- $pools := dict -}}
{{- range $name, $own := .Values.pools -}}
{{- $pool := mergeOverwrite (deepCopy $.Values.runner) (deepCopy (default dict $own)) -}}
{{- $_ := set $pool "seats" (max (int $pool.replicas) (int $pool.maxReplicas)) -}}
{{- $_ := set $pools $name $pool -}}
{{- end -}}
{{ toJson $pools }}
{{- end -}}

{{/* Every runner's pod that there is a certificate for: {POD: DNS name}, as JSON. */}}
{{- define "airlock.runnerPods" -}}
{{- $pods := dict -}}
{{- range $name, $pool := include "airlock.pools" . | fromJson -}}
{{- range $ordinal := until (int $pool.seats) -}}
{{- $pod := printf "%s-%s-%d" (include "airlock.fullname" $) $name $ordinal -}}
{{- $_ := set $pods $pod (printf "%s.%s.%s.svc" $pod (include "airlock.runners" $) $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{ toJson $pods }}
{{- end -}}

{{/* What no schema can say. */}}
{{- define "airlock.check" -}}
{{- $several := or (gt (int .Values.server.replicas) 1) .Values.server.autoscaling.enabled -}}
{{- if and $several (ne .Values.store.backend "postgres") -}}
{{- fail "several servers need one store: set store.backend to postgres, or server.replicas to 1 without server.autoscaling" -}}
{{- end -}}
{{- if and $several (eq .Values.outputs.backend "directory") -}}
{{- fail "several servers need one output storage: set outputs.backend to s3, or server.replicas to 1 without server.autoscaling" -}}
{{- end -}}
{{- if and (eq .Values.store.backend "postgres") (not .Values.store.postgres.url) -}}
{{- fail "store.backend is postgres: name the database in store.postgres.url" -}}
{{- end -}}
{{- if and (eq .Values.outputs.backend "s3") (not .Values.outputs.s3.bucket) -}}
{{- fail "outputs.backend is s3: name the bucket in outputs.s3.bucket" -}}
{{- end -}}
{{- if and (eq .Values.certificates.source "secrets") (not (and .Values.certificates.secrets.server .Values.certificates.secrets.runnerPrefix)) -}}
{{- fail "certificates.source is secrets: name them in certificates.secrets.server and certificates.secrets.runnerPrefix" -}}
{{- end -}}
{{- $names := dict -}}
{{- range $name, $_ := .Values.tokens -}}{{- $_ := set $names $name true -}}{{- end -}}
{{- range .Values.identities -}}
{{- if hasKey $names .name -}}
{{- fail (printf "identities: there are two with the name %s" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- end -}}
{{- if not $names -}}
{{- fail "nobody could call: name somebody in tokens or identities" -}}
{{- end -}}
{{- range $name, $pool := include "airlock.pools" . | fromJson -}}
{{- $pod := printf "%s-%s-%d" (include "airlock.fullname" $) $name (int $pool.seats) -}}
{{- if gt (len $pod) 63 -}}
{{- fail (printf "pools: %s is longer than the 63 characters of a pod's name; choose a shorter one, or set fullnameOverride" $pod) -}}
{{- end -}}
{{- end -}}
{{- end -}}
