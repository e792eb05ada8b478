if ls; then
