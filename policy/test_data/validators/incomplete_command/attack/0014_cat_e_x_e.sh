cat <<'E'
x
 E