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

{{/* (list $ values COMPONENT [POOL]): where pods go, and under which account. */}}
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
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with include "airlock.serviceAccount" (list (index . 0) $values.serviceAccount (index . 2)) }}
serviceAccountName: {{ . }}
{{- end }}
{{- if $values.topologySpread.enabled }}
topologySpreadConstraints:
  {{- $selector := include "airlock.selector" (concat (list (index . 0)) (slice . 2)) }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* (list $ serviceAccount COMPONENT): its name, or nothing for the namespace's default. */}}
{{- define "airlock.serviceAccount" -}}
{{- $account := index . 1 -}}
{{- if $account.name -}}
{{ $account.name }}
{{- else if $account.create -}}
{{ include "airlock.fullname" (index . 0) }}-{{ index . 2 }}
{{- end -}}
{{- end -}}

{{/* Of `security`: users, groups and SELinux's label of a pod. What is null is left to the cluster. */}}
{{- define "airlock.podSecurity" -}}
runAsNonRoot: true
{{- range $field := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- with index $ $field }}
{{ $field }}: {{ int64 . }}
{{- end }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
{{- with .seLinuxOptions }}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (list $ NAME podDisruptionBudget SELECTOR) */}}
{{- define "airlock.podDisruptionBudget" -}}
{{- $root := index . 0 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ index . 1 }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "airlock.labels" $root | nindent 4 }}
spec:
  maxUnavailable: {{ int (index . 2).maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- index . 3 | nindent 6 }}
{{- end -}}

{{/* (list $ KIND NAME autoscaling MAX-REPLICAS) */}}
{{- define "airlock.horizontalPodAutoscaler" -}}
{{- $root := index . 0 -}}
{{- $scaling := index . 3 -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ index . 2 }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "airlock.labels" $root | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: {{ index . 1 }}
    name: {{ index . 2 }}
  minReplicas: {{ int $scaling.minReplicas }}
  maxReplicas: {{ int (index . 4) }}
  metrics:
    {{- with $scaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ int $scaling.targetCPUUtilizationPercentage }}
    {{- end }}
{{- end -}}

{{/* A time such as "1m 30s" in whole seconds, rounded up. */}}
{{- define "airlock.seconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+[a-z]+" . -1 -}}
{{- $count := regexFind "[0-9]+" . | atoi -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- /* Less than a millisecond counts as one. */}}
{{- $sum = add $sum (ternary 1 (mul $count (get $units $unit | default 1)) (has $unit (list "ns" "us"))) -}}
{{- end -}}
{{ div (add $sum 999) 1000 }}
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
