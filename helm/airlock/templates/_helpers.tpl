{{/* Names, labels, images and other parts that several manifests share. */}}

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

{{/* Returns the selector labels of a component. Arguments: (list $ "server") or (list $ "runner" POOL). */}}
{{- define "airlock.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: airlock
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- if gt (len .) 2 }}
airlock/pool: {{ index . 2 }}
{{- end -}}
{{- end -}}

{{/* Returns the reference of an image. Arguments: (list $ image). */}}
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

{{/* Returns the settings of every pod. No pod uses the Kubernetes API. */}}
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

{{/* Returns the scheduling settings and the service account of pods. Arguments: (list $ values COMPONENT [POOL]). */}}
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

{{/* Returns the name of a service account, or nothing for the namespace's default account. Arguments:
(list $ serviceAccount COMPONENT). */}}
{{- define "airlock.serviceAccount" -}}
{{- $account := index . 1 -}}
{{- if $account.name -}}
{{ $account.name }}
{{- else if $account.create -}}
{{ include "airlock.fullname" (index . 0) }}-{{ index . 2 }}
{{- end -}}
{{- end -}}

{{/* Returns the users, groups and SELinux label of a pod from `security`. null leaves a field to the cluster. */}}
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

{{/* Returns a PodDisruptionBudget. Arguments: (list $ NAME podDisruptionBudget SELECTOR). */}}
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

{{/* Returns a HorizontalPodAutoscaler. Arguments: (list $ KIND NAME autoscaling MAX-REPLICAS). */}}
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

{{/* Converts a time such as "1m 30s" to whole seconds, rounded up. */}}
{{- define "airlock.seconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+[a-z]+" . -1 -}}
{{- $count := regexFind "[0-9]+" . | atoi -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- /* Times in ns or us count as one millisecond. */}}
{{- $sum = add $sum (ternary 1 (mul $count (get $units $unit | default 1)) (has $unit (list "ns" "us"))) -}}
{{- end -}}
{{ div (add $sum 999) 1000 }}
{{- end -}}

{{/* Returns the names of the server's two services. The second one has an address per server, for runners. */}}
{{- define "airlock.server" -}}
{{ include "airlock.fullname" . }}-server
{{- end -}}

{{- define "airlock.links" -}}
{{ include "airlock.fullname" . }}-links
{{- end -}}

{{/* Returns the name in a server's certificate, which runners require. */}}
{{- define "airlock.serverName" -}}
{{ include "airlock.server" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "airlock.runners" -}}
{{ include "airlock.fullname" . }}-runners
{{- end -}}

{{/* Returns every pool with its values as JSON. `seats` is the number of runners with certificates. */}}
{{- define "airlock.pools" -}}
{{- $pools := dict -}}
{{- range $name, $own := .Values.pools -}}
{{- $pool := mergeOverwrite (deepCopy $.Values.runner) (deepCopy (default dict $own)) -}}
{{- $_ := set $pool "seats" (max (int $pool.replicas) (int $pool.maxReplicas)) -}}
{{- $_ := set $pools $name $pool -}}
{{- end -}}
{{ toJson $pools }}
{{- end -}}

{{/* Returns every runner pod with a certificate as JSON: {POD: DNS name}. */}}
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
