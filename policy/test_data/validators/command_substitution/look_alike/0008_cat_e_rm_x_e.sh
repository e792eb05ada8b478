cat <<'E'
$(rm x)
E