{{/* The destinations that the network of a pool's floor needs. */}}

{{/*
Returns the destinations of a pool's runners beside servers, DNS and the collector as JSON: `ports` of public addresses,
`ranges` (port by CIDR), and `peers` (the upstream proxy and Vault: `what`, `port`, `to`). A NetworkPolicy cannot name
hosts, so a name of `floor.network` opens its ports for all public addresses. The runner's proxy compares the names. With
an upstream proxy, only that proxy is opened for them. Arguments: the pool.
*/}}
{{- define "airlock.openings" -}}
{{- $network := dig "config" "floor" "network" dict . -}}
{{- $ports := list -}}
{{- $ranges := list -}}
{{- if kindIs "map" $network -}}
{{- if $network.any -}}{{- $ports = list 80 443 -}}{{- end -}}
{{- range $network.allow -}}
{{- $entry := trimSuffix "/tcp" . -}}
{{- $v4 := "^([0-9]+[.][0-9]+[.][0-9]+[.][0-9]+)(/[0-9]+)?(:[0-9]+)?$" -}}
{{- $v6 := "^\\[?([0-9a-fA-F]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)\\]?(/[0-9]+)?(:[0-9]+)?$" -}}
{{- $address := or (regexMatch $v4 $entry) (regexMatch $v6 $entry) -}}
{{- $own := list 80 443 -}}
{{- if $address -}}
{{- $form := ternary $v4 $v6 (regexMatch $v4 $entry) -}}
{{- $port := regexReplaceAll $form $entry "${3}" -}}
{{- if $port -}}{{- $own = list (trimPrefix ":" $port | int) -}}{{- end -}}
{{- $whole := ternary "/32" "/128" (regexMatch $v4 $entry) -}}
{{- $length := default $whole (regexReplaceAll $form $entry "${2}") -}}
{{- $cidr := printf "%s%s" (regexReplaceAll $form $entry "${1}") $length -}}
{{- range $own -}}{{- $ranges = append $ranges (dict "cidr" $cidr "port" .) -}}{{- end -}}
{{- else -}}
{{- if contains ":" $entry -}}{{- $own = list (splitList ":" $entry | last | int) -}}
{{- else if and (not (contains "." $entry)) (hasSuffix "-ssh" $entry) -}}{{- $own = list 22 443 -}}{{- end -}}
{{- $ports = concat $ports $own -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $peers := list -}}
{{- if and .egress.upstream.proxy (or $ports $ranges) -}}
{{- $peers = append $peers (include "airlock.openings.peer" (list "the upstream proxy" .egress.upstream.proxy 3128 .egress.upstream.peers) | fromJson) -}}
{{- $ports = list -}}
{{- $ranges = list -}}
{{- end -}}
{{- with .egress.vault -}}
{{- if .address -}}
{{- $peers = append $peers (include "airlock.openings.peer" (list "Vault" .address 8200 .peers) | fromJson) -}}
{{- end -}}
{{- end -}}
{{- $sorted := list -}}
{{- range $ports | uniq | sortAlpha -}}{{- $sorted = append $sorted (int .) -}}{{- end -}}
{{ dict "ports" $sorted "ranges" ($ranges | uniq) "peers" $peers | toJson }}
{{- end -}}

{{/*
Returns one server of `airlock.openings`. `to` contains the given peers, or the address in the URL; it is empty for a
name, which can have any address. Arguments: (list WHAT URL DEFAULT-PORT PEERS).
*/}}
{{- define "airlock.openings.peer" -}}
{{- $host := urlParse (index . 1) | dig "host" "" -}}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" -}}
{{- $name := regexReplaceAll ":[0-9]+$" $host "" | trimPrefix "[" | trimSuffix "]" -}}
{{- $to := index . 3 -}}
{{- if not $to -}}
{{- if contains ":" $name -}}{{- $to = list (dict "ipBlock" (dict "cidr" (printf "%s/128" $name))) -}}
{{- else if regexMatch "^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$" $name -}}{{- $to = list (dict "ipBlock" (dict "cidr" (printf "%s/32" $name))) -}}{{- end -}}
{{- end -}}
{{ dict "what" (index . 0) "port" ($port | default (index . 2) | int) "to" $to | toJson }}
{{- end -}}

{{/* Returns the egress rules of these destinations. */}}
{{- define "airlock.openings.egress" -}}
{{- with .ports }}
# The hosts of floor.network. The proxy refuses private addresses that the rules do not list.
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
    - ipBlock:
        cidr: ::/0
        except: ["fc00::/7", "fe80::/10"]
  ports:
    {{- range . }}
    - port: {{ . }}
    {{- end }}
{{- end }}
{{- range .ranges }}
- to:
    - ipBlock:
        cidr: {{ .cidr | quote }}
  ports:
    - port: {{ .port }}
{{- end }}
{{- range .peers }}
# {{ .what }}
- ports:
    - port: {{ .port }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Returns one line per pool with what its network policy opens. Arguments: $. */}}
{{- define "airlock.openings.notes" -}}
{{- range $name, $pool := include "airlock.pools" . | fromJson -}}
{{- $open := include "airlock.openings" $pool | fromJson -}}
{{- $texts := list -}}
{{- with $open.ports -}}{{- $texts = append $texts (printf "ports %s of public addresses" (join ", " .)) -}}{{- end -}}
{{- range $open.ranges -}}{{- $texts = append $texts (printf "port %d of %s" (int .port) .cidr) -}}{{- end -}}
{{- range $open.peers -}}
{{- $where := list -}}
{{- range .to -}}{{- $where = append $where (dig "ipBlock" "cidr" "the named pods" .) -}}{{- end -}}
{{- $texts = append $texts (printf "port %d of %s for %s" (int .port) (join ", " $where | default "any address") .what) -}}
{{- end -}}
{{- if $texts }}
  pool {{ $name }}: {{ join ", " $texts }}
{{- end }}
{{- end }}
{{- end -}}
