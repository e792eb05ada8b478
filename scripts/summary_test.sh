#!/usr/bin/env bash
# Tests scripts/summary.awk: its counts, and its detection of errors. Prints TAP.
set -uo pipefail
cd "$(dirname "$0")"

count=0
bad=0
# The number of tests that nextest should have run and did not.
left=0

# Checks the last output line and the exit code for this input.
case_is() { # NAME EXPECTED-LINE EXPECTED-CODE INPUT
    local got code=0
    got=$(printf '%b' "$4" | ./summary.awk -v left="$left") || code=$?
    got=${got##*$'\n'}
    count=$((count + 1))
    if [ "$got" = "$2" ] && [ "$code" -eq "$3" ]; then
        printf 'ok %d - %s\n' "$count" "$1"
    else
        bad=$((bad + 1))
        printf 'not ok %d - %s\n#   got  %s (exit %d)\n#   want %s (exit %d)\n' \
            "$count" "$1" "$got" "$code" "$2" "$3"
    fi
}

case_is "all passed" "tests: 12 passed, 0 failed, 0 skipped" 0 \
    '     Summary [   1.2s] 12 tests run: 12 passed, 0 skipped\n'
case_is "a slow one has passed" "tests: 3 passed, 0 failed, 0 skipped" 0 \
    '     Summary [   1.2s] 3 tests run: 3 passed (1 slow), 0 skipped\n'
case_is "failures and time-outs are failures" "tests: 9 passed, 3 failed, 0 skipped" 1 \
    '     Summary [   1.2s] 12 tests run: 9 passed, 2 failed, 1 timed out, 1 skipped\n'
case_is "both runners are added up" "tests: 15 passed, 0 failed, 1 skipped" 0 \
    '     Summary [   1.2s] 12 tests run: 12 passed, 0 skipped\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n'
case_is "colours do not matter" "tests: 2 passed, 0 failed, 0 skipped" 0 \
    '\033[32;1m     Summary\033[0m [   1.2s] 2 tests run: 2 passed, 0 skipped\n'
case_is "a runner that died is not a success" "tests: 0 passed, 0 failed, 0 skipped" 1 \
    'error: could not compile\n'
case_is "no test at all is not a success" "tests: 0 passed, 0 failed, 0 skipped" 1 \
    '     Summary [   0.0s] 0 tests run: 0 passed, 0 skipped\n'

left=2
case_is "a test that was left out is no success" "tests: 12 passed, 0 failed, 2 skipped" 1 \
    '     Summary [   1.2s] 12 tests run: 12 passed, 9 skipped\n'

printf '1..%d\n' "$count"
[ "$bad" -eq 0 ]
