#!/bin/bash
# The job of the machine: installs Airlock, runs every check, reports each result on a separate port, and restarts the
# machine, which ends it. It runs as root inside the virtual machine only.
set -u
cd "$(dirname "$0")" || exit
. ./lib.sh

# The time limit of one check, in seconds. Under emulation everything takes twenty times as long, and longer on a busy
# host.
CHECK_LIMIT=900

for _ in $(seq 300); do
    [ -e /dev/virtio-ports/airlock.results ] && break
    sleep 0.1
done
exec 3>/dev/virtio-ports/airlock.results
say() { printf '%s\n' "$*" >&3; }

check() { # FILE TOPIC NAME
    local begun=$SECONDS
    if timeout --kill-after=5 "$CHECK_LIMIT" bash -c 'set -eu; . ./lib.sh; . "$1"; "check_$2"' check "$1" "$3" \
        >/tmp/check.log 2>&1 3>&-; then
        say "# $((SECONDS - begun)) s"
        say "ok $2::$3"
    else
        say "# $((SECONDS - begun)) s"
        tail -n 60 /tmp/check.log | sed 's/^/#   /' >&3
        say "not ok $2::$3"
    fi
}

say "# up after $(cut -d ' ' -f 1 /proc/uptime) s, $(uname -r)"
if ! (set -e; install_airlock) >/tmp/check.log 2>&1; then
    sed 's/^/#   /' /tmp/check.log >&3
    say "# Airlock could not be installed"
    systemctl poweroff --force
fi
say "# installed after $(cut -d ' ' -f 1 /proc/uptime) s"
for file in checks/*.sh; do
    topic=$(basename "$file" .sh | cut -d - -f 2)
    for name in $(sed -n 's/^check_\([a-z0-9_]*\)() {.*/\1/p' "$file"); do
        check "$file" "$topic" "$name"
    done
done
say "# end"
sync
reboot --force --force
