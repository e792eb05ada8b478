#!/usr/bin/env bash
# Builds the programs of a release into target/dist/programs. The debug information of each is in NAME.debug in the same
# directory, where debuggers find it by the program's link. Fails if a program exceeds the size limit, or is not
# position-independent.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

LARGEST=$((40 * 1000 * 1000)) # bytes

build=${CARGO_TARGET_DIR:-target}/dist
programs=$build/programs
cargo build --locked --profile dist --bin airlock --bin airlock-server --bin airlock-runner --bin airlock-e2b --bin airlock-probe
mkdir -p "$programs"
for program in airlock airlock-server airlock-runner airlock-e2b airlock-probe; do
    objcopy --only-keep-debug "$build/$program" "$programs/$program.debug"
    objcopy --strip-all "$build/$program" "$programs/$program"
    (cd "$programs" && objcopy --add-gnu-debuglink="$program.debug" "$program")
    size=$(stat -c %s "$programs/$program")
    say "$programs/$program: $((size / 1000000)) MB"
    LC_ALL=C readelf --file-header "$programs/$program" | grep 'Type: *DYN' >/dev/null ||
        die "\`$program\` has fixed addresses" "common/debug_link.rs must affect debug builds only"
    [ "$size" -le "$LARGEST" ] || die "\`$program\` has $size bytes, and may have $LARGEST" "look what it links: cargo tree"
done
