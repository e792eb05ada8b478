#!/usr/bin/env bash
# Runs every check that does not run the code. A tool stops at its first finding; the other tools
# still run.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

failed=()
check() { # NAME COMMAND...
    local name=$1
    shift
    say "$name"
    "$@" || failed+=("$name")
}

# The database of advisories is a git repository outside the package registries.
advisories() {
    local out
    out=$(cargo deny --log-level error check advisories 2>&1) && return
    if grep -qE 'failed to fetch advisory database|failed to (clone|fetch)|Could not resolve|connect' <<<"$out"; then
        say "not run: cargo-deny advisories, because their database cannot be reached from here"
        return
    fi
    printf '%s\n' "$out"
    return 1
}

check "cargo fmt" cargo fmt --all --check
check "cargo clippy" cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
# `make run` builds only this package, without the features that other packages of the workspace add to its dependencies.
check "the program of make run" cargo check --locked --quiet --package airlock-cli --bin airlock
check "rustdoc" env RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' cargo doc --locked --quiet --workspace --no-deps --document-private-items
check "buf lint" sh -c 'cd proto && buf lint'
check "buf breaking" sh -c 'cd proto && buf breaking --against released.binpb'
check "ruff" sh -c 'cd clients/python && ruff check --no-cache . ../conformance ../../docs/examples/hook && ruff format --no-cache --check . ../conformance ../../docs/examples/hook'
check "retired terms" python3 scripts/retired_terms.py
check "cargo-deny bans, licences, sources" cargo deny --log-level error check bans licenses sources
check "cargo-deny advisories" advisories

if [ "${#failed[@]}" -gt 0 ]; then
    say "lint found something: $(IFS=,; echo "${failed[*]}")"
    exit 1
fi
say "lint is clean"
