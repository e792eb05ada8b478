#!/usr/bin/env bash
# Runs every test of `make test-long`. A test is not run if this host does not reach the package registry that it needs, or
# does not have the version of Python that it needs. The last lines name each such test, with the reason.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

# The tests that need a registry, each with an address of every host that it uses.
REGISTRIES='registries::long::pip_installs_from_pypi https://pypi.org https://files.pythonhosted.org
documentation::long::the_commands_of_the_readme_that_need_a_registry_run https://pypi.org https://files.pythonhosted.org
registries::long::npm_installs_from_npms_registry https://registry.npmjs.org
registries::long::cargo_fetches_from_crates_io https://index.crates.io https://static.crates.io'
# The time for one answer, in seconds.
PATIENCE=15

left=()
filter='all()'
while read -r test addresses; do
    for address in $addresses; do
        # Any answer over TLS shows that the host is reached.
        reason=$(curl --silent --show-error --head --output /dev/null --max-time "$PATIENCE" "$address" 2>&1) &&
            continue
        left+=("$test: $address is not reached from this host: $reason")
        filter+=" and not test(=$test)"
        break
    done
done <<<"$REGISTRIES"
# A `python3.12` in PATH can be a wrapper that does not start a Python.
if ! python3.12 --version >/dev/null 2>&1; then
    left+=("adapters::long::open_hands: there is no python3.12")
    filter+=" and not test(=adapters::long::open_hands)"
fi

build_tests || exit 1
use_memory
code=0
# The files of failed tests stay.
end() { if [ -n "$temporary" ] && [ "$code" -eq 0 ]; then remove_tree "$temporary"; fi; }
trap end EXIT
trap 'exit 130' INT TERM
# Most tests wait for other processes, so more tests run at once than there are processors. The default filter of the
# profile `long` applies in addition.
AIRLOCK_TEST_LONG=1 cargo nextest run --profile long --locked --workspace --no-fail-fast \
    --test-threads $(($(nproc) + 1)) -E "$filter"
code=$?
[ "${#left[@]}" -eq 0 ] || for one in "${left[@]}"; do say "not run: $one"; done
exit "$code"
