echo $(cat <<'E'
it's
E
)
