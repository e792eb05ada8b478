{{/* The proxy of a pool's runners: configuration, files, and the checks of its values. */}}

{{/* Returns the table [egress] of a pool as JSON. Arguments: the pool. */}}
{{- define "airlock.egress.table" -}}
{{- $table := dict -}}
{{- $files := "/etc/airlock/egress" -}}
{{- with .egress -}}
{{- if .caSecret.name }}{{ $_ := set $table "ca" (printf "%s/ca.crt" $files) }}{{ end -}}
{{- if .upstream.proxy -}}
{{- $upstream := dict "proxy" .upstream.proxy "resolve" .upstream.resolve -}}
{{- if .upstream.credentialSecret.name }}{{ $_ := set $upstream "credential" (printf "%s/upstream" $files) }}{{ end -}}
{{- $_ := set $table "upstream" $upstream -}}
{{- end -}}
{{- if .vault.address -}}
{{- $vault := merge (dict "address" .vault.address) .vault.config -}}
{{- if .vault.kubernetesRole -}}
{{- $_ := set $vault "token_file" "/var/run/secrets/vault/token" -}}
{{- $_ := set $vault "kubernetes_role" .vault.kubernetesRole -}}
{{- $_ := set $vault "kubernetes_mount" .vault.kubernetesMount -}}
{{- else -}}
{{- $_ := set $vault "token_file" (printf "%s/vault-token" $files) -}}
{{- end -}}
{{- if .vault.namespace }}{{ $_ := set $vault "namespace" .vault.namespace }}{{ end -}}
{{- if .vault.caSecret.name }}{{ $_ := set $vault "ca" (printf "%s/vault-ca.crt" $files) }}{{ end -}}
{{- $_ := set $table "vault" $vault -}}
{{- end -}}
{{- $secrets := dict -}}
{{- range $name, $secret := .secrets -}}
{{- $own := omit $secret "secret" -}}
{{- if $secret.secret }}{{ $_ := set $own "file" (printf "%s/secrets/%s" $files $name) }}{{ end -}}
{{- $_ := set $secrets $name $own -}}
{{- end -}}
{{- if $secrets }}{{ $_ := set $table "secrets" $secrets }}{{ end -}}
{{- end -}}
{{ toJson $table }}
{{- end -}}

{{/* Returns the files of a pool's proxy as JSON: [[SECRET, KEY, FILE], ...]. Arguments: the pool. */}}
{{- define "airlock.egress.files" -}}
{{- $files := list -}}
{{- with .egress -}}
{{- if .caSecret.name }}{{ $files = append $files (list .caSecret.name .caSecret.key "ca.crt") }}{{ end -}}
{{- with .upstream.credentialSecret -}}
{{- if .name }}{{ $files = append $files (list .name .key "upstream") }}{{ end -}}
{{- end -}}
{{- with .vault.caSecret -}}
{{- if .name }}{{ $files = append $files (list .name .key "vault-ca.crt") }}{{ end -}}
{{- end -}}
{{- with .vault.tokenSecret -}}
{{- if .name }}{{ $files = append $files (list .name .key "vault-token") }}{{ end -}}
{{- end -}}
{{- range $name, $secret := .secrets -}}
{{- with $secret.secret }}{{ $files = append $files (list .name .key (printf "secrets/%s" $name)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{ toJson $files }}
{{- end -}}

{{/*
Returns the volume with the token of a pool's service account for Vault. The token is not valid for the Kubernetes API.
Arguments: the pool.
*/}}
{{- define "airlock.egress.account" -}}
- name: vault
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          path: token
          audience: {{ .egress.vault.audience }}
          expirationSeconds: 3600
{{- end -}}

{{/* Checks the proxy of a pool. Arguments: (list PATH pool). */}}
{{- define "airlock.check.egress" -}}
{{- $path := printf "%s.egress" (index . 0) -}}
{{- $egress := (index . 1).egress -}}
{{- if and $egress.upstream.credentialSecret.name (not $egress.upstream.proxy) -}}
{{- fail (printf "%s.upstream: credentialSecret is set without proxy; name the proxy, or remove it" $path) -}}
{{- end -}}
{{- $vault := $egress.vault -}}
{{- if and $vault.address (eq (empty $vault.kubernetesRole) (empty $vault.tokenSecret.name)) -}}
{{- fail (printf "%s.vault: set exactly one of kubernetesRole and tokenSecret" $path) -}}
{{- end -}}
{{- if and (not $vault.address) (or $vault.kubernetesRole $vault.tokenSecret.name $vault.caSecret.name) -}}
{{- fail (printf "%s.vault: address is missing; name the server" $path) -}}
{{- end -}}
{{- range $name, $secret := $egress.secrets -}}
{{- if eq (empty $secret.secret) (empty $secret.vault) -}}
{{- fail (printf "%s.secrets.%s: set exactly one of secret and vault" $path $name) -}}
{{- end -}}
{{- if and $secret.vault (not $vault.address) -}}
{{- fail (printf "%s.secrets.%s: vault is set without %s.vault.address; name the server" $path $name $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
