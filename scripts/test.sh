#!/usr/bin/env bash
# Runs every test of `make test`. At the end it prints how many tests passed, failed and were not run, and the duration
# of each step.
#
# In parallel with most tests, another job builds the release programs and then runs what uses them: the virtual machine
# and the escape suites. The code in the documentation and the map of tests follow. The tests that need the host
# exclusively run after that job. A test that cannot run fails; a test that nextest excludes counts as not run.
# scripts/host-state.sh compares the host before and after.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

work=$(mktemp -d)
use_memory
steps=()
failed=()
release=
end() {
    # The process group of the job: vm.sh ends its machine.
    [ -n "$release" ] && kill -TERM -- "-$release" 2>/dev/null && wait "$release" 2>/dev/null
    remove_tree "$work"
    # The files of failed tests stay.
    if [ -n "$temporary" ] && [ "${#failed[@]}" -eq 0 ]; then remove_tree "$temporary"; fi
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
nextest() { # THREADS ARGUMENT...
    cargo nextest run --locked --workspace --no-fail-fast --test-threads "$@"
}

# Builds the images that the tests of the chart run, for at most half an hour. The first build also creates their Debian
# part from Debian's archive.
build_images() { timeout --foreground 1800 "${CARGO_TARGET_DIR:-target}/debug/images"; }

# Lists every test that nextest has to run, one on each line.
listed() { cargo nextest list --locked --workspace -E "not ($ESCAPE)" --message-format oneline 2>/dev/null; }

# Builds the release programs, and then runs what uses them, the code in the documentation, and the comparison with the
# map of tests. The machine's disk is created during the build. The output of each part is in a file of its own.
run_release() {
    local code=0
    tests/vm/image.sh >/dev/null 2>"$work/image" &
    timed "release build" release_programs
    code=$?
    wait "$!" || cat "$work/image"
    [ "$code" -eq 0 ] || return
    timed "virtual machine" scripts/vm.sh >"$work/machine" 2>&1 || code=1
    timed "escape suites" nextest 2 --release --test escape >"$work/escape suites" 2>&1 || code=1
    timed "documentation" cargo test --quiet --locked --workspace --doc >"$work/documentation" 2>&1 || code=1
    timed "map of tests" scripts/test-map.sh >"$work/map" 2>&1 || code=1
    return "$code"
}

# Appends the duration of a command to the steps of the release job.
timed() { # NAME COMMAND...
    local name=$1 begun=$SECONDS code
    shift
    "$@"
    code=$?
    printf '%5d s  %s\n' "$((SECONDS - begun))" "$name" >>"$work/release-times"
    return "$code"
}

# Names each test that needs an installed PowerShell.
not_run_without_pwsh() {
    cargo nextest list --locked --workspace --ignore-default-filter -E "$LIVE_PWSH" --message-format oneline \
        2>/dev/null | sed 's/^/not run: /; s/$/: there is no pwsh/'
}

# In a process group of its own, which ends with this script.
begin_release() {
    set -m
    run_release >"$work/release" 2>&1 &
    release=$!
    set +m
}

await_release() {
    wait "$release" || failed+=("release build, virtual machine, escape suites, documentation or map of tests")
    release=
    cat "$work"/{release,machine,"escape suites",documentation,map} 2>/dev/null
    steps+=("$(cat "$work/release-times")")
}

# Samples are drawn with this seed. The same seed gives the same samples.
export AIRLOCK_TEST_SEED=${AIRLOCK_TEST_SEED:-$(od -An -N8 -tu8 /dev/urandom | tr -d ' ')}
say "the seed of the samples: AIRLOCK_TEST_SEED=$AIRLOCK_TEST_SEED"
scripts/host-state.sh take --quick "$work/before" || exit 1
begin_release
step "build" build_tests
[ "${#failed[@]}" -eq 0 ] || exit 1

step "images" build_images
step "tests" nextest $(($(nproc) + 1)) -E "not ($ALONE) and not ($ESCAPE)"
await_release
if command -v pwsh >/dev/null; then
    step "PowerShell" nextest $(($(nproc) + 1)) --ignore-default-filter -E "$LIVE_PWSH"
fi
# Four threads: the two tests of a fleet need two each.
step "tests that run alone" nextest 4 -E "$ALONE"
step "host" scripts/host-state.sh compare --quick "$work/before"

left=$(($(listed | wc -l) - $(tests_run "$work/tests" "$work/tests that run alone")))
printf '%s\n' "${steps[@]}"
[ -f "$work/PowerShell" ] || not_run_without_pwsh
say "tests of \`make test-long\` are not run here; tests/map/long.md names each, with its reason"
ran=("$work"/{tests,"tests that run alone","escape suites",documentation,machine})
[ -f "$work/PowerShell" ] && ran+=("$work/PowerShell")
scripts/summary.awk -v left="$left" "${ran[@]}" || failed+=("summary")
[ "${#failed[@]}" -eq 0 ] || say "failed: $(IFS=,; echo "${failed[*]}"); files of tests are in ${TMPDIR:-/tmp}"
[ "${#failed[@]}" -eq 0 ]
