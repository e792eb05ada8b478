{{/* Certificates and tokens that the chart creates once per installation. Existing ones in the cluster are kept. */}}

{{- define "airlock.tls.server" -}}
{{- if eq .Values.certificates.source "secrets" -}}
{{ .Values.certificates.secrets.server }}
{{- else -}}
{{ include "airlock.server" . }}-tls
{{- end -}}
{{- end -}}

{{/* Returns the name of the Secret with a runner's certificate. Arguments: (list $ POD). */}}
{{- define "airlock.tls.runner" -}}
{{- $root := index . 0 -}}
{{- if eq $root.Values.certificates.source "secrets" -}}
{{ $root.Values.certificates.secrets.runnerPrefix }}-{{ index . 1 }}
{{- else -}}
{{ index . 1 }}-tls
{{- end -}}
{{- end -}}

{{/* Returns every name of the servers as JSON. */}}
{{- define "airlock.hosts" -}}
{{- $hosts := list -}}
{{- range $service := list (include "airlock.server" .) (include "airlock.links" .) -}}
{{- $long := printf "%s.%s" $service $.Release.Namespace -}}
{{- $hosts = concat $hosts (list $service $long (printf "%s.svc" $long) (printf "%s.svc.%s" $long $.Values.clusterDomain)) -}}
{{- end -}}
{{ toJson (concat $hosts (list "localhost") .Values.server.hosts) }}
{{- end -}}

{{/* Returns a Secret of this namespace by name, as JSON. {} if it does not exist. */}}
{{- define "airlock.secret" -}}
{{- $root := index . 0 -}}
{{ toJson (default dict (lookup "v1" "Secret" $root.Release.Namespace (index . 1))) }}
{{- end -}}

{{/* Creates the chart's authority, once per rendering. Sets .Values.made.ca, which a value cannot set. */}}
{{- define "airlock.ca" -}}
{{- $_ := set .Values "made" (default dict .Values.made) -}}
{{- if not .Values.made.ca -}}
{{- $kept := include "airlock.secret" (list . (printf "%s-ca" (include "airlock.fullname" .))) | fromJson -}}
{{- if $kept.data -}}
{{- $_ := set .Values.made "ca" (buildCustomCert (index $kept.data "tls.crt") (index $kept.data "tls.key")) -}}
{{- else -}}
{{- $days := int .Values.certificates.chart.days -}}
{{- $name := printf "%s authority" (include "airlock.fullname" .) -}}
{{- $_ := set .Values.made "ca" (genCAWithKey $name $days (genPrivateKey "ecdsa")) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Returns a Secret with a certificate for these names. An existing Secret for the same names is kept. Arguments:
(list $ SECRET COMMON-NAME HOSTS ADDRESSES). */}}
{{- define "airlock.certificate" -}}
{{- $root := index . 0 -}}
{{- $secret := index . 1 -}}
{{- $hosts := index . 3 -}}
{{- $made := join "," $hosts -}}
{{- $kept := include "airlock.secret" (list $root $secret) | fromJson -}}
{{- include "airlock.ca" $root -}}
{{- $data := dict "ca.crt" (b64enc $root.Values.made.ca.Cert) -}}
{{- if and $kept.data (eq $made (dig "metadata" "annotations" "airlock/hosts" "" $kept)) (eq (index $kept.data "ca.crt") (index $data "ca.crt")) -}}
{{- $data = $kept.data -}}
{{- else -}}
{{- $days := int $root.Values.certificates.chart.days -}}
{{- $pair := genSignedCertWithKey (index . 2) (index . 4) $hosts $days $root.Values.made.ca (genPrivateKey "ecdsa") -}}
{{- $data = merge $data (dict "tls.crt" (b64enc $pair.Cert) "tls.key" (b64enc $pair.Key)) -}}
{{- end -}}
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: {{ $secret }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "airlock.labels" $root | nindent 4 }}
  annotations:
    airlock/hosts: {{ $made | quote }}
data:
  {{- toYaml $data | nindent 2 }}
{{- end -}}

{{/* Returns a token. An existing token is kept. Arguments: (list $ NAME). */}}
{{- define "airlock.token" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $_ := set $root.Values "made" (default dict $root.Values.made) -}}
{{- $_ := set $root.Values.made "tokens" (default dict $root.Values.made.tokens) -}}
{{- if not (hasKey $root.Values.made.tokens $name) -}}
{{- $kept := include "airlock.secret" (list $root (printf "%s-tokens" (include "airlock.fullname" $root))) | fromJson -}}
{{- $token := dig "data" $name "" $kept | b64dec -}}
{{- $_ := set $root.Values.made.tokens $name (default (randAlphaNum 48) $token) -}}
{{- end -}}
{{ index $root.Values.made.tokens $name }}
{{- end -}}

{{/* Copies changed files from FROM to TO. Each file is replaced atomically. Ends on SIGTERM. */}}
{{- define "airlock.runner.copyCertificates" -}}
trap 'exit 0' TERM
while :; do
  for file in tls.crt tls.key ca.crt; do
    if ! cmp -s "$FROM/$file" "$TO/$file"; then
      cp -f "$FROM/$file" "$TO/.$file" && chmod 0440 "$TO/.$file" && mv "$TO/.$file" "$TO/$file"
    fi
  done
  sleep 10 & wait
done
{{- end -}}
