#!/usr/bin/env bash
# Compares the state of the host before and after a run of the tests, which must not change the host.
#
#   scripts/host-state.sh take [--quick] DIR      writes the state of the host to DIR, which is new or empty
#   scripts/host-state.sh compare [--quick] DIR   lists the differences; exits with 1 if there are any
#
# With --quick it compares mounts, namespaces, processes, the clock and ports, in less than a second. Otherwise it also
# compares files in /etc, /usr, /var and HOME, cgroups, users, sysctls, the firewall, /dev/shm, loop devices and IPC
# objects; the host should be idle meanwhile. scripts/host-state.exclude lists permitted changes with their reasons;
# HOST_STATE_EXCLUDE names another such file.
#
# Other programs of the host start and end at any time. A new process belongs to the run if its nearest ancestor that
# existed before is the caller of this script, or the process that adopts the caller's orphans. New namespaces and ports
# count if such a process holds them. A full comparison also lists daemons, namespaces and ports that have disappeared.
#
# Processes that a run ends may take a moment to disappear: `compare` repeats the comparison for up to
# HOST_STATE_PATIENCE seconds (20) before it reports.
set -uo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

QUICK=(mounts namespaces processes ports clock)
FULL=(files home cgroups users sysctls firewall shm loops ipc)
# The number of milliseconds that the wall clock may move relative to the time since boot. An NTP client that corrects a
# small offset at once may step by less than 2 s, and slews by at most 500 ppm. A test that sets the clock moves it by
# minutes.
CLOCK_STEP=2000
CLOCK_SLEW_PPM=500

usage() {
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# --- The state. Each see_SUBJECT prints lines, which are then sorted.

see_mounts() {
    local pid
    for pid in 1 "$$"; do
        [ "$pid" != 1 ] && [ "$(readlink /proc/1/ns/mnt)" = "$(readlink "/proc/$pid/ns/mnt")" ] && continue
        sed "s/^/of_$([ "$pid" = 1 ] && echo init || echo caller) /" "/proc/$pid/mountinfo" 2>/dev/null
    done
}

see_namespaces() {
    find /proc/[0-9]*/ns -mindepth 1 -type l -printf '%l\n' 2>/dev/null
    find /run/netns /var/run/netns -mindepth 1 -printf 'named %p\n' 2>/dev/null
}

# Prints number, start, parent, state and flags of each process that is alive. The name may contain blanks and brackets.
see_processes() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk '
        match($0, /^[0-9]+ \(/) {
            pid = $1
            sub(/^.*\) /, "")
            if ($1 !~ /[ZXx]/) print pid, $20, $2, $1, $7
        }'
}

# Unconnected UDP sockets count as listening.
see_ports() {
    local kind
    for kind in tcp tcp6 udp udp6; do
        awk -v kind="$kind" -v state="$([[ $kind == tcp* ]] && echo 0A || echo 07)" \
            '$4 == state { print kind, $2 }' "/proc/net/$kind" 2>/dev/null
    done
}

see_clock() {
    local up
    read -r up _ </proc/uptime
    echo "$((${EPOCHREALTIME/[.,]/} / 1000)) $((10#${up/./} * 10))"
}

# Directories are listed without their times: an entry that was added and removed is not a difference. The change time
# reveals a file that was written and got its old modification time back.
list_files() { # SUBJECT DIR...
    local subject=$1 pattern prune=()
    shift
    while IFS= read -r pattern; do
        prune+=(-path "$pattern" -prune -o)
    done < <(patterns "$subject")
    find "$@" "${prune[@]}" \( -type d -printf '%p %y %m %U:%G\n' -o -printf '%p %y %m %U:%G %s %T@ %C@ %l\n' \) 2>/dev/null
}
see_files() { list_files files /etc /usr /var; }
see_home() { list_files home "$HOME"; }

see_cgroups() { find /sys/fs/cgroup -mindepth 1 -type d 2>/dev/null; }

see_users() {
    getent passwd | sed 's/^/user /'
    getent group | sed 's/^/group /'
}

see_sysctls() { grep -rs '' /proc/sys; }

see_firewall() {
    if command -v nft >/dev/null; then
        nft --stateless list ruleset 2>&1 | awk '/^table/ { table = $0 } { print table, $0 }'
    else
        grep -Hs '' /proc/net/ip_tables_names /proc/net/ip6_tables_names /proc/net/arp_tables_names
        local save
        for save in iptables-save ip6tables-save; do
            command -v "$save" >/dev/null && "$save" 2>/dev/null |
                sed -e '/^#/d' -e 's/ \[[0-9]*:[0-9]*\]$//' -e "s/^/$save /"
        done
    fi
}

see_shm() { find /dev/shm /dev/mqueue -mindepth 1 -printf '%p %y %m %U:%G %s\n' 2>/dev/null; }

see_loops() { grep -Hs '' /sys/block/loop*/loop/backing_file; }

see_ipc() { awk 'FNR > 1 { print FILENAME, $1, $2, $3 }' /proc/sysvipc/{shm,sem,msg} 2>/dev/null; }

# --- Exclusions.

excludes() { # the rows, checked
    cat "$here/host-state.exclude" ${HOST_STATE_EXCLUDE:+"$HOST_STATE_EXCLUDE"} | awk -F '\t' '
        /^#/ || NF == 0 { next }
        NF != 3 || $3 == "" { print "line " NR ": `" $0 "`" >"/dev/stderr"; exit 1 }
        { print }'
}

patterns() { # SUBJECT
    local subject pattern root
    root=$(cd "$here/.." && pwd)
    while IFS=$'\t' read -r subject pattern _; do
        [ "$subject" = "$1" ] || continue
        case "$pattern" in
        '$CHECKOUT'*) pattern=$root${pattern#'$CHECKOUT'} ;;
        '$TARGET'*) pattern=${CARGO_TARGET_DIR:-$root/target}${pattern#'$TARGET'} ;;
        '$CACHE'*) pattern=${XDG_CACHE_HOME:-$HOME/.cache}${pattern#'$CACHE'} ;;
        '$CARGO'*) pattern=${CARGO_HOME:-$HOME/.cargo}${pattern#'$CARGO'} ;;
        '$RUSTUP'*) pattern=${RUSTUP_HOME:-$HOME/.rustup}${pattern#'$RUSTUP'} ;;
        '$HOME'*) pattern=$HOME${pattern#'$HOME'} ;;
        esac
        printf '%s\n' "$pattern"
    done <<<"$rows"
}

is_excluded() { # SUBJECT KEY
    local pattern
    while IFS= read -r pattern; do
        # shellcheck disable=SC2053 # a pattern
        [[ $2 == $pattern ]] && return
    done < <(patterns "$1")
    return 1
}

# --- The processes that belong to the run.

# Prints the process that adopts the orphans of this one: the nearest subreaper, or the first process.
reaper() {
    local pid parent of _
    read -r pid of < <(setsid sh -c 'sleep 5 >/dev/null & echo $! $$')
    while read -r _ _ _ parent _ <"/proc/$pid/stat" && [ "$parent" -eq "$of" ]; do
        sleep 0.001
    done
    kill "$pid"
    echo "$parent"
}

ancestors() { # of this process, itself included
    local pid=$$ line
    while [ "$pid" -gt 0 ]; do
        echo "$pid"
        line=$(cat "/proc/$pid/stat") || return
        line=${line##*) }
        read -r _ pid _ <<<"$line"
    done
}

# Prints the lines in NOW of the new processes of the run. Children of this script do not belong to it. Neither do
# processes that the caller started together with it, as in a pipeline.
own_processes() { # BEFORE NOW
    awk -v self="$$" -v caller="$PPID" -v reaper="$(reaper)" -v above="$(ancestors | tr '\n' ' ')" '
        BEGIN { split(above, list); for (i in list) over[list[i]] }
        FILENAME == ARGV[1] { old[$1 " " $2]; next }
        { line[$1] = $0; start[$1] = $2; parent[$1] = $3; if (($1 " " $2) in old) there[$1] }
        int($5 / 2097152) % 2 { there[$1] } # PF_KTHREAD
        END {
            for (pid in line) {
                if ((pid in there) || (pid in over)) continue
                if (parent[pid] == caller && (start[pid] > start[self] || start[pid] == start[self] && pid + 0 > self + 0)) continue
                at = pid
                while (!(at in there) && !(at in over) && (at in parent)) at = parent[at]
                if (at != self && (at == caller || at == reaper)) print line[pid]
            }
        }' "$1" "$2"
}

# Prints the part of a cgroup path that names a unit of the service manager.
unit() { sed -nE 's#^(.*\.(service|scope|slice|socket|mount))(/.*)?$#\1#p' <<<"$1"; }

cgroup_of() { # PID
    sed -nE 's/^(0:|[0-9]+:name=systemd):(.*)$/\2/p' "/proc/$1/cgroup" 2>/dev/null | sort | tail -n 1
}

# Returns whether the service manager started the process: it belongs to another unit than the caller.
of_another_unit() { # CGROUP-PATH
    local found
    found=$(unit "$1")
    [ -n "$found" ] && [ "$found" != "$own_unit" ]
}

# --- Reports. From the lines that were added (+) or removed (-), each judge_SUBJECT prints those to report, in words.

judge() { # SUBJECT
    case "$1" in
    mounts) judge_mounts ;;
    namespaces) judge_namespaces ;;
    processes) judge_processes ;;
    ports) judge_ports ;;
    clock) judge_clock ;;
    cgroups) judge_cgroups ;;
    sysctls) judge_sysctls ;;
    *) changed "$1" ;;
    esac
}

changed() { # SUBJECT
    comm -13 "$before/$1" "$now/$1" | sed 's/^/+ /'
    comm -23 "$before/$1" "$now/$1" | sed 's/^/- /'
}

judge_mounts() {
    local sign of target rest line
    changed mounts | while IFS= read -r line; do
        read -r sign of _ _ _ _ target rest <<<"$line"
        is_excluded mounts "$target" || printf '%s %s %s (%s)\n' "$sign" "$target" "$rest" "${of#of_}"
    done
}

judge_processes() {
    local pid start line
    while read -r pid start _; do
        # A process that ends meanwhile has no files.
        line=$({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null)
        of_another_unit "$(cgroup_of "$pid")" || printf '+ %s user %s: %s\n' "$pid" \
            "$(stat -c %u "/proc/$pid" 2>/dev/null)" "${line:-$(cat "/proc/$pid/comm" 2>/dev/null)}"
    done <"$now/own"
    [ -n "$quick" ] && return
    # Daemons that have ended.
    awk 'FILENAME == ARGV[1] { over[$1]; next } FILENAME == ARGV[2] { now[$1 " " $2]; next }
        !(($1 " " $2) in now) && $3 == 1 && !($1 in over) { print "- " $1 " (it was a child of the first process)" }' \
        "$before/ancestors" "$now/processes" "$before/processes"
}

judge_namespaces() {
    local sign what pid
    changed namespaces | sort -u | while read -r sign what pid; do
        if [ "$what" = named ]; then
            echo "$sign $pid"
        elif [ "$sign" = + ]; then
            held_by_run "$what"
        elif [ -z "$quick" ]; then
            echo "- $what"
        fi
    done
}

held_by_run() { # NAMESPACE
    local pid
    for pid in $(find /proc/[0-9]*/ns -mindepth 1 -lname "${1//[\[]/\\[}" -printf '%h\n' 2>/dev/null | cut -d / -f 3 | sort -un); do
        if grep -q "^$pid " "$now/own" || grep -qx "$pid" "$now/ancestors"; then
            echo "+ $1, in which process $pid is"
            return
        fi
    done
}

judge_ports() {
    local sign kind address
    changed ports | while read -r sign kind address; do
        if [ "$sign" = - ]; then
            [ -n "$quick" ] || echo "- $kind port $((16#${address##*:}))"
        else
            listener "$kind" "$address"
        fi
    done
}

listener() { # KIND ADDRESS
    local inode uid pid
    read -r uid inode < <(awk -v at="$2" '$2 == at { print $8, $10; exit }' "/proc/net/$1")
    [ -n "${inode:-}" ] || return
    pid=$(find /proc/[0-9]*/fd -lname "socket:\\[$inode\\]" -printf '%h\n' 2>/dev/null | head -n 1 | cut -d / -f 3)
    # Only root can read the descriptors of another user.
    [ -z "$pid" ] && [ "$(id -u)" -ne 0 ] && [ "$uid" -ne "$(id -u)" ] && return
    [ -n "$pid" ] && ! grep -q "^$pid " "$now/own" && ! grep -qx "$pid" "$now/ancestors" && return
    echo "+ $1 port $((16#${2##*:})), of process ${pid:-unknown}"
}

judge_clock() {
    local wall up wall_now up_now moved limit
    read -r wall up <"$before/clock"
    read -r wall_now up_now <"$now/clock"
    moved=$((wall_now - up_now - wall + up))
    limit=$((CLOCK_STEP + (up_now - up > 0 ? up_now - up : 0) * CLOCK_SLEW_PPM / 1000000))
    [ "${moved#-}" -le "$limit" ] || echo "+ the wall clock moved by $moved ms against the time since boot; at most $limit ms are a correction"
}

judge_cgroups() {
    local sign path
    changed cgroups | while read -r sign path; do
        of_another_unit "${path#/sys/fs/cgroup}" || of_another_unit "${path#/sys/fs/cgroup/*}" || echo "$sign $path"
    done
}

judge_sysctls() {
    local sign rest
    changed sysctls | while read -r sign rest; do
        rest=${rest#/proc/sys/}
        is_excluded sysctls "${rest%%:*}" || echo "$sign $rest"
    done
}

advice() { # SUBJECT
    case "$1" in
    mounts) echo 'mount in a mount namespace of the test (unshare --mount), and unmount what is left: umount PATH' ;;
    namespaces) echo 'end the process that holds it, or remove its name: ip netns delete NAME' ;;
    processes) echo 'a test must end what it starts, and wait for its end; end it: kill PID' ;;
    ports) echo 'a test must end the server that it starts; end it: kill PID' ;;
    clock) echo 'set clocks in the virtual machine only; correct it: timedatectl, or date --set' ;;
    files) echo 'write to a temporary directory; what setup installs belongs into scripts/setup.sh, before the tests' ;;
    home) echo 'give what the test starts a HOME of its own, or write to $HOME/.cache/airlock' ;;
    cgroups) echo 'a test must remove its cgroups; remove it: rmdir PATH' ;;
    users) echo 'add users in the virtual machine, or in a mount namespace with an /etc/passwd of its own' ;;
    sysctls) echo 'set it in the virtual machine, or in a namespace of its own; set it back: sysctl -w NAME=VALUE' ;;
    firewall) echo 'change rules in a network namespace of the test (unshare --net), or in the virtual machine' ;;
    shm) echo 'a test must remove what it puts there; remove it: rm PATH' ;;
    loops) echo 'detach it: losetup --detach DEVICE' ;;
    ipc) echo 'use an IPC namespace of the test (unshare --ipc); remove it: ipcrm' ;;
    esac
}

# --- The two commands.

look() { # DIR SUBJECT...
    local dir=$1 subject
    shift
    for subject in "$@"; do
        "see_$subject" | sort -u >"$dir/$subject"
    done
    ancestors >"$dir/ancestors"
}

take() {
    [ -e "$state" ] && [ -n "$(ls -A "$state")" ] && die "\`$state\` holds something" "name a directory that is new or empty"
    mkdir -p "$state" && look "$state" "${subjects[@]}"
}

differences() { # SUBJECT...
    local subject found
    look "$now" "$@"
    own_processes "$before/processes" "$now/processes" >"$now/own"
    for subject in "$@"; do
        found=$(judge "$subject" | sort -u)
        [ -n "$found" ] && sed "s/^/$subject: /" <<<"$found"
    done
}

compare() {
    local subject found count
    for subject in "${subjects[@]}"; do
        [ -f "$before/$subject" ] || die "\`$before\` does not hold the $subject of before" "take it first: scripts/host-state.sh take $quick DIR"
    done
    own_unit=$(unit "$(cgroup_of "$PPID")")
    now=$(mktemp -d)
    trap 'remove_tree "$now"' EXIT
    found=$(differences "${subjects[@]}")
    while [ -n "$found" ] && [ "$SECONDS" -lt "${HOST_STATE_PATIENCE:-20}" ]; do
        sleep 0.5
        mapfile -t again < <(cut -d : -f 1 <<<"$found" | sort -u)
        # The reports on namespaces and ports depend on the processes.
        found=$(differences processes "${again[@]}" | sort -u)
    done
    if [ -z "$found" ]; then
        say "the host is unchanged: ${subjects[*]}"
        return
    fi
    count=$(wc -l <<<"$found")
    say "the host was changed, in $count ways"
    for subject in "${subjects[@]}"; do
        grep -q "^$subject: " <<<"$found" || continue
        grep "^$subject: " <<<"$found" | head -n 50
        printf '  %s\n' "$(advice "$subject")"
    done
    return 1
}

[ $# -ge 2 ] || usage
command=$1 quick=
shift
[ "$1" = --quick ] && quick=--quick && shift
[ $# -eq 1 ] || usage
state=$1 before=$1
rows=$(excludes) || die "a row of the exclusions is not: subject, pattern, reason, separated by tabs" "correct it"
subjects=("${QUICK[@]}")
[ -n "$quick" ] || subjects+=("${FULL[@]}")
case "$command" in
take) take ;;
compare) compare ;;
*) usage ;;
esac
