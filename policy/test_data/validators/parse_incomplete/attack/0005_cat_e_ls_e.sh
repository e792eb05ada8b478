cat <<'E'; ls
E