cat <<'EOF'
$(touch x) `touch y`
EOF