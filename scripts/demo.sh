#!/usr/bin/env bash
# The demo of `make run`: a short working day of an agent, through gRPC, in the sandbox.
#
# It works on a copy of this repository. Every step states its expected result, and the demo fails
# at the first step with another result. It leaves no files behind.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

airlock="${CARGO_TARGET_DIR:-target}/debug/airlock"
git rev-parse --git-dir >/dev/null 2>&1 ||
    die "this directory is not a git repository; the demo needs its history" \
        "clone the repository instead of unpacking an archive of it"

work=$(mktemp -d "${TMPDIR:-/tmp}/airlock-demo.XXXXXX")
dev=
clean_up() {
    [ -n "$dev" ] && kill -TERM "$dev" 2>/dev/null && wait "$dev" 2>/dev/null
    remove_tree "$work"
}
trap clean_up EXIT
export AIRLOCK_STATE="$work/state"

bold='' blue='' dim='' plain=''
[ -t 1 ] && bold=$'\e[1m' blue=$'\e[36m' dim=$'\e[2m' plain=$'\e[0m'
title() { printf '\n%s\n' "$bold$*$plain"; }
says() { printf '%s %s\n' "$blue$1>$plain" "$2"; }

# Runs a command in the session and checks its exit code.
agent() { # EXPECTED-CODE COMMAND...
    local want=$1 got=0
    shift
    says agent "${*: -1}"
    "$airlock" run --session "$session" "${@:1:$#-1}" -- "${*: -1}" || got=$?
    printf '%s\n' "$dim(exit $got)$plain"
    [ "$got" -eq "$want" ] || die "the demo failed: exit code $got instead of $want" "see the output above"
}

title "Start a server and a runner in one process: airlock dev"
git clone --quiet --no-hardlinks . "$work/repository"
"$airlock" dev --profile demo --base "airlock=$work/repository" >"$work/dev.log" 2>&1 &
dev=$!
"$airlock" runners --wait || { cat "$work/dev.log" >&2; die "airlock dev does not respond" "see its log above"; }

title "Create a session with a copy of this repository as its workspace"
session=$("$airlock" session create --base airlock --quiet)
echo "$session"

title "Read files: the commands are proven read-only and run on read-only mounts"
agent 0 "git log --oneline | head -n 5"
agent 0 "grep -rn 'fn decide' --include=*.rs . | head -n 5"

title "Run the tests with live output: they pass"
agent 0 "./scripts/summary_test.sh"

title "Edit a file and run the tests: they fail"
agent 0 "sed -i 's/passed += number/passed = number/' scripts/summary.awk && git diff --stat"
agent 1 "./scripts/summary_test.sh"

title "Revert the edit: the tests pass again"
agent 0 "git checkout --quiet scripts/summary.awk && ./scripts/summary_test.sh | tail -n 1"

title "Change the directory: it persists for the next command"
agent 0 "cd policy/src"
agent 0 "pwd && ls | head -n 3"
agent 0 "cd /workspace"

title "Cancel a long command"
says agent "for i in \$(seq 600); do echo step \$i; sleep 1; done"
"$airlock" run --session "$session" -- 'for i in $(seq 600); do echo step $i; sleep 1; done' >"$work/long.out" 2>"$work/long.err" &
long=$!
until grep -q 'step 2' "$work/long.out"; do sleep 0.1; done
"$airlock" kill "$("$airlock" ps --quiet --session "$session" | head -n 1)"
code=0
wait "$long" || code=$?
cat "$work/long.out" "$work/long.err"
printf '%s\n' "$dim(exit $code)$plain"
[ "$code" -ne 0 ] || die "the cancelled command reported success" "see the output above"

title "Push: a deny rule of the profile refuses it"
agent 125 "git push origin main"

title "Run make: an ask rule requires an approval, and a person gives it"
says agent "make help"
"$airlock" run --session "$session" --on-ask wait --description "List the make targets" -- 'make help' >"$work/make.out" 2>&1 &
asked=$!
approval=$("$airlock" approve --wait --quiet)
says person "airlock approve $approval"
"$airlock" approve "$approval" --yes
wait "$asked"
cat "$work/make.out"

title "List the executions and their results"
"$airlock" ps --all --session "$session"

title "Close the session and remove its workspace"
"$airlock" session close "$session"

title "The demo is complete. Next: README.md"
