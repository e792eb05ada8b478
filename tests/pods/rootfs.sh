#!/usr/bin/env bash
# Makes the root file system of the test pods: Debian's smallest, with what a runner's image has beside Airlock.
# Prints the folder that holds it. Made once for each version of this file, as root, from Debian's archive; kept
# under ~/.cache/airlock/pods.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh

SUITE=bookworm
PACKAGES=bubblewrap,git

make_rootfs() { # FOLDER
    local work
    [ "$(id -u)" -eq 0 ] || die "the test pods' root is made as root, and it is not there yet" \
        "run \`sudo XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache} $PWD/tests/pods/rootfs.sh\` once"
    say "making the test pods' root from Debian's archive; once, about a minute"
    work=$(mktemp -d "$1.XXXXXX")
    # shellcheck disable=SC2064
    trap "remove_tree '$work'" EXIT
    in_own_mounts mmdebstrap --quiet --mode=root --variant=minbase --include="$PACKAGES" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "$SUITE" "$work/root" >"$work/log" 2>&1 ||
        die "mmdebstrap could not make the test pods' root: $(tail -n 1 "$work/log")" \
            "is Debian's archive reachable from here?"
    remove_tree "$work/root/var/cache/apt" "$work/root/var/lib/apt/lists"
    rm "$work/log"
    mkdir "$work/root/opt/airlock"
    chmod 0755 "$work"
    mv -T "$work" "$1"
}

cache="${XDG_CACHE_HOME:-$HOME/.cache}/airlock/pods"
mkdir -p "$cache"
rootfs="$cache/$(sha256sum tests/pods/rootfs.sh | cut -c 1-16)"
# Tests start side by side; the first makes it.
exec 9>"$cache/lock"
flock 9
[ -d "$rootfs" ] || make_rootfs "$rootfs"
printf '%s\n' "$rootfs/root"
