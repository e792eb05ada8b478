#!/usr/bin/env bash
# Compares the current tests with tests/map/tests.tsv, which maps each test of commit c9c8c43 to its successor:
# `scripts/test-map.sh [LIST]`. Exits with 1 if a test has no successor, or if a test tries fewer cases than its
# predecessor did.
#
# LIST has a line `BINARY TEST` for each test in nextest's list. Without LIST the script runs nextest, which builds the
# tests. `scripts/test_counts.py` counts the cases, and lists tests that nextest does not run.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

map=tests/map/tests.tsv
work=$(mktemp -d)
trap 'remove_tree "$work"' EXIT

if [ $# -gt 0 ]; then
    cp "$1" "$work/list" || exit 2
else
    cargo nextest list --locked --workspace --ignore-default-filter --message-format oneline >"$work/list" ||
        die "nextest could not list the tests" "see what it says: cargo nextest list --workspace"
fi
python3 scripts/test_counts.py . <"$work/list" >"$work/counts" || exit 2

# Columns of the map: old test, new test, cases of the old test, cases of the new test in `make test`, the test with the
# remaining cases, reason. A test of `make test-long` repeats the cases of its sample; another test adds to them.
awk -F '\t' '
    FILENAME == ARGV[1] { short[$1 " " $2] = $3; long[$1 " " $2] = $4; next }
    /^#/ || NF == 0 { next }
    { rows++ }
    NF != 6 { print "line " FNR ": " NF " columns, not 6"; next }
    $1 in seen { print "twice: " $1 }
    { seen[$1]; new = $2 == "=" ? $1 : $2 }
    !(new in short) { print "lost: " $1 ": there is no " new; next }
    $5 != "" && !($5 in short) { print "lost: " $1 ": there is no " $5; next }
    short[new] + 0 < $4 + 0 && $5 == "" { print "fewer cases: " new ": " short[new] ", not " $4 }
    $5 == "" && $4 + 0 < $3 + 0 { print "fewer cases: " $1 ": " $4 " of " $3 ", and nothing has the rest" }
    $5 != "" { all = long[$5] + ($5 == new || $5 ~ /(^|[ :])long::/ ? 0 : long[new]) }
    $5 != "" && all < $3 + 0 { print "fewer cases: " $5 ": " all ", not " $3 " as " $1 " had" }
    (new ~ /(^|[ :])long::/ || $5 != "") && $6 == "" { print "no reason: " $1 " moved to `make test-long`" }
    END { print rows + 0 " rows" >"/dev/stderr" }
' "$work/counts" "$map" >"$work/findings" 2>"$work/rows"

if [ -s "$work/findings" ]; then
    cat "$work/findings"
    die "$(wc -l <"$work/findings") findings in $map" "bring the test back, or say in $map what became of it, and why"
fi
say "every test has its successor: $(cat "$work/rows"), $(wc -l <"$work/counts") tests"
