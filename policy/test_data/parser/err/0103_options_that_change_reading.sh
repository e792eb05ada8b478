set +B; alpha {a,b}
