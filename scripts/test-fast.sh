#!/usr/bin/env bash
# Runs the most relevant tests for a change: the main job once, and the unit tests of the changed crates and of every
# crate that depends on them. A crate is changed if it differs from origin's main, or in the working tree. `make test`
# runs the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

changed_files() {
    if git rev-parse --quiet --verify origin/main >/dev/null; then
        git diff --name-only origin/main
    else
        say "there is no origin/main: only changes of the working tree count"
        git diff --name-only HEAD
    fi
    git ls-files --others --exclude-standard
}

# Prints the nextest filter of the changed packages and their dependents, or `all()` if a file may affect every crate.
filter() {
    local file directory packages=()
    while read -r file; do
        case $file in
        Cargo.toml | Cargo.lock) echo 'all()' && return ;;
        esac
        directory=$(dirname "$file")
        while [ "$directory" != . ] && [ ! -f "$directory/Cargo.toml" ]; do directory=$(dirname "$directory"); done
        [ "$directory" = . ] && continue
        packages+=("$(sed -n 's/^name = "\(airlock-[a-z-]*\)"$/\1/p' "$directory/Cargo.toml" | head -n 1)")
    done
    [ "${#packages[@]}" -eq 0 ] && return
    printf '%s\n' "${packages[@]}" | sort -u | sed 's/.*/rdeps(=&)/' | paste -sd '|'
}

chosen=$(changed_files | sort -u | filter)
say "building"
build_programs
say "the main job: an agent's short day"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
scripts/demo.sh >"$log" 2>&1 || { cat "$log"; die "the main job failed" "see above; again: scripts/demo.sh"; }
if [ -z "$chosen" ]; then
    say "no crate is changed: no unit test is run"
    exit
fi
say "unit tests of: $chosen"
cargo nextest run --locked --workspace --lib --bins --no-fail-fast -E "$chosen"
