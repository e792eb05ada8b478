printf '%s\n' "$(cat <<'E O F'
; rm x
E O F
)"