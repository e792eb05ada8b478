{{/* The destinations that the network of a pool's floor needs. */}}

{{/*
Returns the destinations of a pool's `floor.network` as JSON: `ports` of public addresses, and `ranges` (port by CIDR).
A NetworkPolicy cannot name hosts, so a name opens its ports for all public addresses. The runner's proxy compares the
names. Arguments: the pool.
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
{{- $sorted := list -}}
{{- range $ports | uniq | sortAlpha -}}{{- $sorted = append $sorted (int .) -}}{{- end -}}
{{ dict "ports" $sorted "ranges" ($ranges | uniq) | toJson }}
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
{{- end -}}

{{/* Returns one line per pool with what its network policy opens. Arguments: $. */}}
{{- define "airlock.openings.notes" -}}
{{- range $name, $pool := include "airlock.pools" . | fromJson -}}
{{- $open := include "airlock.openings" $pool | fromJson -}}
{{- $texts := list -}}
{{- with $open.ports -}}{{- $texts = append $texts (printf "ports %s of public addresses" (join ", " .)) -}}{{- end -}}
{{- range $open.ranges -}}{{- $texts = append $texts (printf "port %d of %s" (int .port) .cidr) -}}{{- end -}}
{{- if $texts }}
  pool {{ $name }}: {{ join ", " $texts }}
{{- end }}
{{- end }}
{{- end -}}
