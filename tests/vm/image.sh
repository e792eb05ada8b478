#!/usr/bin/env bash
# Makes the disk, kernel and initrd of the test machine: a stock Debian 12 with systemd and nothing of
# Airlock's. Prints the folder that holds them. Made once for each version of this file, as root, from
# Debian's archive; kept under ~/.cache/airlock/vm.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh
export PATH="$PATH:/usr/sbin"

SUITE=bookworm
# What a plain host of Airlock's has, beside the kernel and systemd.
PACKAGES=apparmor,bubblewrap,dbus,dbus-user-session,e2fsprogs,git,iproute2,jq,kmod,libpam-systemd,linux-image-cloud-amd64,procps,python3-minimal,systemd-sysv,udev,xfsprogs
# The size of its root, in bytes; what is not used takes no room.
DISK=4G

# The second disk holds the programs and the checks; the machine's only job is to run them.
configure() { # ROOT
    local root=$1
    echo airlock-vm >"$root/etc/hostname"
    cat >"$root/etc/fstab" <<END
/dev/vda / ext4 defaults 0 1
/dev/vdb /payload ext4 ro,nodev 0 0
END
    mkdir "$root/payload"
    cat >"$root/etc/systemd/system/airlock-checks.service" <<END
[Unit]
Description=Airlock's checks in this machine
RequiresMountsFor=/payload
After=systemd-user-sessions.service dbus.service

[Service]
Type=exec
ExecStart=/payload/vm/main.sh

[Install]
WantedBy=multi-user.target
END
    # Nobody logs in, nothing is fetched, and nothing is to share the processor with the checks.
    chroot "$root" systemctl --quiet enable airlock-checks.service
    chroot "$root" systemctl --quiet mask getty.target apt-daily.timer apt-daily-upgrade.timer \
        dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-tmpfiles-clean.timer
}

make_image() { # FOLDER
    local work
    [ "$(id -u)" -eq 0 ] || die "the test machine's disk is made as root, and it is not there yet" \
        "run \`sudo XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache} $PWD/tests/vm/image.sh\` once; no other part of make test-vm needs root"
    say "making the test machine's disk from Debian's archive; once, about a minute"
    mkdir -p "$(dirname "$1")"
    work=$(mktemp -d "$1.XXXXXX")
    # shellcheck disable=SC2064
    trap "remove_tree '$work'" EXIT
    in_own_mounts mmdebstrap --quiet --mode=root --variant=minbase --include="$PACKAGES" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "$SUITE" "$work/root" >"$work/log" 2>&1 ||
        die "mmdebstrap could not make the test machine's root: $(tail -n 1 "$work/log")" \
            "is Debian's archive reachable from here?"
    configure "$work/root"
    mke2fs -q -t ext4 -L airlock-root -d "$work/root" "$work/root.img" "$DISK" >/dev/null
    cp -L "$work/root/vmlinuz" "$work/root/initrd.img" "$work"
    remove_tree "$work/root"
    rm "$work/log"
    chmod 0755 "$work"
    # Somebody else who made the same meanwhile has won.
    mv -T "$work" "$1" 2>/dev/null || [ -d "$1" ]
}

cache="${XDG_CACHE_HOME:-$HOME/.cache}/airlock/vm"
image="$cache/$(sha256sum tests/vm/image.sh | cut -c 1-16)"
if [ ! -d "$image" ]; then
    make_image "$image"
    # Those of earlier versions of this file.
    while IFS= read -r -d '' old; do
        remove_tree "$old"
    done < <(find "$cache" -mindepth 1 -maxdepth 1 -type d ! -path "$image" -mtime +1 -print0)
fi
printf '%s\n' "$image"
