#!/usr/bin/env bash
# Runs the checks of tests/vm in an emulated virtual machine: a stock Debian 12 kernel and systemd, with the server and
# the runner as units. Prints each check by name, in the format of Rust's test runner.
#
# A check that cannot run has failed: a machine that does not boot fails every check. With TOPICs (names of files in
# tests/vm/checks without their number) only those run.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
export PATH="$PATH:/usr/sbin"

# The time limits in seconds, from the machine's start to its first output and to its end.
BOOT_LIMIT=600
LIMIT=3000
# The maximum number of boots. On a busy host the machine's two processors can wait for each other forever while it
# boots; its console then reports `soft lockup`. A check that has started is never repeated.
BOOTS=3
PROGRAMS=(airlock airlock-probe airlock-runner airlock-server)
built="${CARGO_TARGET_DIR:-target}/release"
# The last check, which restarts the machine. Its result is visible on the console only.
REBOOT="host::root_reboots_the_machine"

work=$(mktemp -d)
machine=
end() {
    [ -n "$machine" ] && kill -KILL "$machine" 2>/dev/null
    remove_tree "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

topic() { basename "$1" .sh | cut -d - -f 2; }

names() { # every check that must report, as TOPIC::NAME
    local file
    for file in "$work"/payload/vm/checks/*.sh; do
        sed -n "s/^check_\([a-z0-9_]*\)() {.*/$(topic "$file")::\1/p" "$file"
    done
    printf '%s\n' "$REBOOT"
}

choose() { # TOPIC...
    local file
    mkdir -p "$work/payload/bin" "$work/payload/deploy" "$work/payload/vm" &&
        cp -r deploy/. "$work/payload/deploy" && cp -r tests/vm/. "$work/payload/vm" &&
        cp sandbox/tests/escape/in_vm.txt "$work/payload/vm" || return
    [ $# -eq 0 ] && return
    for file in "$work"/payload/vm/checks/*.sh; do
        [[ " $* " == *" $(topic "$file") "* ]] || rm "$file"
    done
}

# Makes the second disk: the programs without their debug information, the units, and the checks.
pack() {
    local program
    for program in "${PROGRAMS[@]}"; do
        strip -o "$work/payload/bin/$program" "$built/$program" || return
    done
    mke2fs -q -t ext4 -d "$work/payload" "$work/payload.img" 512M >/dev/null
}

# The machine has one processor. One thread emulates the machine, so a second processor would only take turns with the
# first. Its processor is an older one without AVX, which takes longer to emulate. Without address space randomization
# a program that starts again has the same addresses, so the emulator uses its translation again: this halves the time.
start() { # IMAGE
    : >"$work/results"
    TMPDIR=$work nice -n -5 qemu-system-x86_64 -nodefaults -display none -monitor none -no-reboot \
        -machine q35 -accel tcg,thread=single -cpu Nehalem,+aes,+pclmulqdq,+rdrand -smp 1 -m 3072 \
        -kernel "$1/vmlinuz" -initrd "$1/initrd.img" \
        -append "root=/dev/vda rw console=ttyS0 panic=-1 quiet mitigations=off norandmaps" \
        -drive "file=$1/root.img,format=raw,if=virtio,snapshot=on" \
        -drive "file=$work/payload.img,format=raw,if=virtio,readonly=on" \
        -device virtio-rng-pci -device virtio-serial-pci \
        -chardev "file,id=results,path=$work/results" -device virtserialport,chardev=results,name=airlock.results \
        -serial "file:$work/console" >"$work/qemu" 2>&1 &
    machine=$!
}

# Returns whether a processor of the machine has been stuck for minutes.
stalls() { grep -q 'soft lockup .* stuck for [0-9]\{3,\}s' "$work/console" 2>/dev/null; }

# Shows results as they arrive. Returns when the machine has ended or its time is over.
follow() {
    local shown=0 complete begun=$SECONDS
    while kill -0 "$machine" 2>/dev/null; do
        sleep 1
        complete=$(wc -l <"$work/results")
        show "$shown" "$complete"
        shown=$complete
        [ "$shown" -eq 0 ] && stalls && { say "the machine stalls"; return; }
        [ "$shown" -eq 0 ] && [ $((SECONDS - begun)) -gt "$BOOT_LIMIT" ] && { say "no word in $BOOT_LIMIT s"; return; }
        [ $((SECONDS - begun)) -gt "$LIMIT" ] && { say "not at its end in $LIMIT s"; return; }
    done
    show "$shown" "$(wc -l <"$work/results")"
}

show() { # FROM TO
    [ "$2" -gt "$1" ] && sed -n "$(($1 + 1)),$2 { s/^ok \(.*\)/test vm::\1 ... ok/; s/^not ok \(.*\)/test vm::\1 ... FAILED/; p }" "$work/results"
}

# Counts every check once. A check without a report has failed.
count() {
    local name passed=0 failed=0
    grep -q 'reboot: Restarting system' "$work/console" 2>/dev/null && grep -q '^# end$' "$work/results" &&
        echo "ok $REBOOT" >>"$work/results" && echo "test vm::$REBOOT ... ok"
    for name in $(names); do
        if grep -qx "ok $name" "$work/results"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            grep -qx "not ok $name" "$work/results" || echo "test vm::$name ... FAILED: it did not come to its end"
        fi
    done
    if [ "$failed" -gt 0 ]; then
        tail -n 20 "$work/qemu" "$work/console" 2>/dev/null
        echo "test result: FAILED. $passed passed; $failed failed; 0 ignored; finished in ${SECONDS}s"
        return 1
    fi
    echo "test result: ok. $passed passed; 0 failed; 0 ignored; finished in ${SECONDS}s"
}

run() {
    local image
    image=$(tests/vm/image.sh) || return
    pack || { say "the machine's second disk could not be made"; return 1; }
    local boot
    for ((boot = 1; boot <= BOOTS; boot++)); do
        start "$image"
        follow
        [ -s "$work/results" ] && return
        kill -KILL "$machine" 2>/dev/null
        wait "$machine" 2>/dev/null
        say "boot $boot of $BOOTS came to nothing; the console's last lines:"
        tail -n 3 "$work/console" >&2
    done
}

SECONDS=0
: >"$work/results"
choose "$@" || die "the checks could not be copied to $work" "is there room?"
run
count
