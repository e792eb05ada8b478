#!/usr/bin/env bash
# Runs every test, and says last how many passed, failed and were not run.
#
# Nothing is left out on purpose: a test that cannot run fails. Should nextest skip one all the same,
# it counts as not run, and its name is printed.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

log=$(mktemp -d)
trap 'remove_tree "$log"' EXIT

# The whole-system tests start these programs.
cargo build --locked --workspace --bins || exit 1

cargo nextest run --locked --workspace --no-fail-fast "$@" 2>&1 | tee "$log/nextest"
nextest=${PIPESTATUS[0]}
# The escape suite once more, as it is released.
cargo nextest run --locked --release --package airlock-sandbox --package airlock-runner --test escape \
    --no-fail-fast 2>&1 | tee "$log/release"
release=${PIPESTATUS[0]}
cargo test --locked --workspace --doc 2>&1 | tee "$log/doc"
doc=${PIPESTATUS[0]}
scripts/vm.sh 2>&1 | tee "$log/vm"
vm=${PIPESTATUS[0]}

scripts/summary.awk "$log/nextest" "$log/release" "$log/doc" "$log/vm"
summary=$?
[ "$nextest" -eq 0 ] && [ "$release" -eq 0 ] && [ "$doc" -eq 0 ] && [ "$vm" -eq 0 ] && [ "$summary" -eq 0 ]
