{{/* Checks of values that the schema cannot express. */}}
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
{{- fail "certificates.source is secrets: set certificates.secrets.server and certificates.secrets.runnerPrefix" -}}
{{- end -}}
{{- $names := dict -}}
{{- range $name, $_ := .Values.tokens -}}{{- $_ := set $names $name true -}}{{- end -}}
{{- range .Values.identities -}}
{{- if hasKey $names .name -}}
{{- fail (printf "identities: the name %s is used twice" .name) -}}
{{- end -}}
{{- $_ := set $names .name true -}}
{{- end -}}
{{- if not $names -}}
{{- fail "no caller is configured: add one to tokens or identities" -}}
{{- end -}}
{{- include "airlock.check.server" . -}}
{{- range $name, $pool := include "airlock.pools" . | fromJson -}}
{{- include "airlock.check.pool" (list (printf "pools.%s" $name) $pool) -}}
{{- $pod := printf "%s-%s-%d" (include "airlock.fullname" $) $name (int $pool.seats) -}}
{{- if gt (len $pod) 63 -}}
{{- fail (printf "pools: %s is longer than the 63 characters of a pod's name; choose a shorter one, or set fullnameOverride" $pod) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "airlock.check.server" -}}
{{- with .Values.telemetry -}}
{{- if and (or .caSecret.name .certificateSecret) (not (hasPrefix "https://" .otlpEndpoint)) -}}
{{- fail "telemetry.caSecret and telemetry.certificateSecret are for TLS: set telemetry.otlpEndpoint to an https:// address, or remove them" -}}
{{- end -}}
{{- end -}}
{{- with .Values.server.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "server.autoscaling: minReplicas (%d) is more than maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- $service := .Values.server.service -}}
{{- $policy := .Values.networkPolicy -}}
{{- $addresses := concat $policy.clientCIDRs $service.loadBalancerSourceRanges -}}
{{- range $policy.clients -}}{{- with .ipBlock -}}{{- $addresses = append $addresses .cidr -}}{{- end -}}{{- end -}}
{{- if and $policy.enabled (ne $service.type "ClusterIP") (not $addresses) -}}
{{- fail (printf "server.service.type is %s, but the network policy admits no address outside the cluster: name the clients' addresses in networkPolicy.clientCIDRs, such as [203.0.113.0/24], or 0.0.0.0/0 and ::/0 for all" $service.type) -}}
{{- end -}}
{{- if and $service.loadBalancerSourceRanges (ne $service.type "LoadBalancer") -}}
{{- fail (printf "server.service.loadBalancerSourceRanges is set, but server.service.type is %s; set it to LoadBalancer, or use networkPolicy.clientCIDRs" $service.type) -}}
{{- end -}}
{{- $own := list "config" "profiles" "tls" "state" "postgres" "s3" "telemetry" -}}
{{- include "airlock.check.extras" (list "server" .Values.server $own (list "AIRLOCK_ADVERTISE")) -}}
{{- end -}}

{{/* Checks a pool. Arguments: (list PATH pool). */}}
{{- define "airlock.check.pool" -}}
{{- $path := index . 0 -}}
{{- $pool := index . 1 -}}
{{- $scaling := $pool.autoscaling -}}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $pool.maxReplicas)) -}}
{{- fail (printf "%s: autoscaling.minReplicas (%d) is more than maxReplicas (%d), the number of runners with a certificate" $path (int $scaling.minReplicas) (int $pool.maxReplicas)) -}}
{{- end -}}
{{- include "airlock.check.egress" (list $path $pool) -}}
{{- $own := list "config" "pool" "tls" "state" "tmp" "telemetry" "egress" "vault" -}}
{{- range $base, $_ := $pool.bases -}}{{- $own = append $own (printf "base-%s" $base) -}}{{- end -}}
{{- include "airlock.check.extras" (list $path $pool $own list) -}}
{{- end -}}

{{/* Checks that env and volumes do not conflict with those of the chart. Arguments: (list PATH values VOLUMES VARIABLES). */}}
{{- define "airlock.check.extras" -}}
{{- $path := index . 0 -}}
{{- $values := index . 1 -}}
{{- $volumes := list -}}
{{- range $values.extraVolumes -}}
{{- if has .name (concat (index $ 2) $volumes) -}}
{{- fail (printf "%s.extraVolumes: the name %s is used twice; use another name" $path .name) -}}
{{- end -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- range $values.extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "%s.extraVolumeMounts: no volume %s is in extraVolumes" $path .name) -}}
{{- end -}}
{{- end -}}
{{- $variables := index . 3 -}}
{{- range $values.env -}}
{{- if has .name $variables -}}
{{- fail (printf "%s.env: %s is set twice, or by the chart itself; remove it" $path .name) -}}
{{- end -}}
{{- $variables = append $variables .name -}}
{{- end -}}
{{- end -}}
