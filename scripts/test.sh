#!/usr/bin/env bash
# Runs every test of `make test`. At the end it prints how many tests passed, failed and were not run, and the duration
# of each step.
#
# The release programs are built in parallel with the tests. The virtual machine follows, in parallel with most tests.
# The tests that need the host exclusively run after the machine has ended. A test that cannot run fails; a test that
# nextest excludes counts as not run. scripts/host-state.sh compares the host before and after.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

work=$(mktemp -d)
steps=()
failed=()
machine=
end() {
    # The process group of the job: vm.sh ends its machine.
    [ -n "$machine" ] && kill -TERM -- "-$machine" 2>/dev/null && wait "$machine" 2>/dev/null
    remove_tree "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

# Runs a step. Shows and keeps its output, and records its duration and, on failure, its name.
step() { # NAME COMMAND...
    local name=$1 begun=$SECONDS
    shift
    say "$name"
    "$@" 2>&1 | tee "$work/$name"
    [ "${PIPESTATUS[0]}" -eq 0 ] || failed+=("$name")
    steps+=("$(printf '%5d s  %s' "$((SECONDS - begun))" "$name")")
}

# Most tests wait for other processes, so more tests run at once than there are processors.
nextest() { cargo nextest run --locked --workspace --no-fail-fast --test-threads $(($(nproc) + 1)) "$@"; }

# Lists every test that nextest has to run, one on each line.
listed() { cargo nextest list --locked --workspace -E "not ($ESCAPE)" --message-format oneline 2>/dev/null; }

# Builds the release programs, and then runs the virtual machine with them. Its disk is created during the build.
run_machine() {
    local begun=$SECONDS code
    tests/vm/image.sh >/dev/null 2>"$work/image" &
    release_programs
    code=$?
    wait "$!" || cat "$work/image"
    printf '%5d s  release build\n' "$((SECONDS - begun))" >"$work/machine-time"
    [ "$code" -eq 0 ] || return
    begun=$SECONDS
    scripts/vm.sh
    code=$?
    printf '%5d s  virtual machine\n' "$((SECONDS - begun))" >>"$work/machine-time"
    return "$code"
}

# In a process group of its own, which ends with this script.
begin_machine() {
    set -m
    run_machine >"$work/machine" 2>&1 &
    machine=$!
    set +m
}

await_machine() {
    wait "$machine" || failed+=("release build and virtual machine")
    machine=
    cat "$work/machine"
    steps+=("$(cat "$work/machine-time")")
}

# Samples are drawn with this seed. The same seed gives the same samples.
export AIRLOCK_TEST_SEED=${AIRLOCK_TEST_SEED:-$(od -An -N8 -tu8 /dev/urandom | tr -d ' ')}
say "the seed of the samples: AIRLOCK_TEST_SEED=$AIRLOCK_TEST_SEED"
scripts/host-state.sh take --quick "$work/before" || exit 1
begin_machine
step "build" build_tests
[ "${#failed[@]}" -eq 0 ] || exit 1

step "tests" nextest -E "not ($ALONE) and not ($ESCAPE)"
step "documentation" cargo test --quiet --locked --workspace --doc
step "escape suites" nextest --release --test escape
await_machine
step "tests that run alone" nextest -E "$ALONE"
step "host" scripts/host-state.sh compare --quick "$work/before"

left=$(($(listed | wc -l) - $(tests_run "$work/tests" "$work/tests that run alone")))
printf '%s\n' "${steps[@]}"
say "tests of \`make test-long\` are not run here; tests/map/long.md names each, with its reason"
scripts/summary.awk -v left="$left" "$work/tests" "$work/tests that run alone" "$work/escape suites" \
    "$work/documentation" "$work/machine" || failed+=("summary")
[ "${#failed[@]}" -eq 0 ] || say "failed: $(IFS=,; echo "${failed[*]}")"
[ "${#failed[@]}" -eq 0 ]
