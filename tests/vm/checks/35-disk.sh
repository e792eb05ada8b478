# Tests the disk limits of sessions, for each backend. The runner gets its own state directory on a file system that
# supports the backend, and its original one afterwards. Each check has a control: `watch` on the same disk, with
# which the same command exceeds the limit until the usage is counted.

STATE=/var/lib/airlock-runner
CONFIG=/etc/airlock/runner.toml
BYTES=16777216
INODES=500
MIB=1048576

# Gives the runner a state directory on a new file system of STATE_SIZE, and a backend.
with_disk() { # FILE-SYSTEM MOUNT-OPTIONS BACKEND [LINE...]
    local kind=$1 options=$2 backend=$3
    shift 3
    systemctl stop airlock-runner
    cp $CONFIG /tmp/runner.toml.kept
    # Restores the configuration for the next check, even if this one fails.
    trap without_disk EXIT
    truncate -s "${STATE_SIZE:-700M}" /var/tmp/state.img
    case $kind in
        ext4) mkfs.ext4 -q -F -O quota,project -E quotatype=prjquota /var/tmp/state.img ;;
        xfs) mkfs.xfs -q -f /var/tmp/state.img ;;
    esac
    mount -o "loop,$options" /var/tmp/state.img $STATE
    chmod 0700 $STATE
    set_workspace "backend = \"$backend\"" "bytes = $BYTES" "inodes = $INODES" "$@"
    # systemd has stopped restarting the unit if an earlier configuration was refused.
    systemctl reset-failed airlock-runner 2>/dev/null || true
    systemctl start airlock-runner
}

# Replaces the content of [workspace].
set_workspace() { # LINE...
    sed -i '/^\[workspace\]/,/^\[/ { /^\[/!d }' $CONFIG
    printf '%s\n' 'watch_every = "1s"' "$@" >/tmp/workspace.lines
    sed -i '/^\[workspace\]/ r /tmp/workspace.lines' $CONFIG
}

without_disk() {
    trap - EXIT
    systemctl stop airlock-runner
    # The kernel removes the mounts of a unit shortly after its last process.
    for _ in $(seq 600); do
        umount $STATE 2>/tmp/said && break
        sleep 0.2
    done
    if mountpoint -q $STATE; then fail "the runner's state is still in use: $(cat /tmp/said; users_of_state)"; fi
    rm -f /var/tmp/state.img
    cp /tmp/runner.toml.kept $CONFIG
    systemctl start airlock-runner
    wait_ready
}

# Prints what can keep the file system of the state directory in use: processes, mount namespaces and loop devices.
users_of_state() {
    local process
    losetup --list
    grep " $STATE" /proc/self/mountinfo
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] || ! grep -q " $STATE" "$process/mountinfo" ||
            printf 'has it mounted: %s %s\n' "${process#/proc/}" "$(tr '\0' ' ' <"$process/cmdline")"
        find "$process/cwd" "$process/root" "$process/fd" -lname "$STATE*" -printf '%p %l\n'
    done 2>/dev/null
    systemctl status --no-pager airlock-runner | head -n 20
}

session() { airlock session create --token-file $TOKEN --profile vm; }

in_session() { # ID COMMAND
    airlock run --token-file $TOKEN --session "$1" -- "$2"
}

# Checks the disk check as doctor ($doctor) and the server ($server) report it.
disk_is() { # FILTER
    { airlock-runner doctor --config $CONFIG --json || true
        airlock runners show runner-1 --cert /etc/airlock/lead.pem --key /etc/airlock/lead.key --json; } >/tmp/said
    jq -es "(.[0].checks[] | select(.name == \"disk_quota\")) as \$doctor |
        (.[1].capabilities[] | select(.name == \"disk_quota\")) as \$server | $1" /tmp/said || fail "$(cat /tmp/said)"
}

# Runs a command to its end, and prints the execution as JSON.
ended_in() { # SESSION COMMAND
    ended "$(airlock start --token-file $TOKEN --session "$1" -- "$2")"
}

# Checks that the kernel limits the bytes and inodes of a session, also after a kill. Another session must not be
# disturbed, and nothing must remain at the end. With `whole`, it also stops the runner normally. It checks that a full
# session refuses uploads and protects its names, which does not depend on the file system.
held_by_the_kernel() { # BACKEND REFUSAL KEPT-BY-RESTART [whole]
    local backend=$1 refusal=$2 kept=$3 whole=${4:-} own other said pid
    wait_ready
    disk_is "\$doctor.state == \"ok\" and (\$doctor.seen | startswith(\"$backend: \")) and \$server.enforced"
    own=$(session) other=$(session)
    pid=$(systemctl show -P MainPID airlock-runner)
    in_session "$other" 'echo kept > file'
    bytes_and_inodes_end "$own" "$refusal"
    [ -z "$whole" ] || full_session_loses_nothing "$own"
    [ "$(in_session "$other" 'head -c 1M /dev/zero > more; cat file')" = kept ] || fail "the neighbour was disturbed"
    [ "$(systemctl show -P MainPID airlock-runner)" = "$pid" ] || fail "the runner was started again"
    in_session "$own" 'rm -rf ./* ~/* /tmp/*; echo kept > file; mkdir -p deep && cd deep'
    kill -KILL "$pid"
    until [ "$(systemctl show -P MainPID airlock-runner)" != "$pid" ]; do sleep 0.2; done
    wait_ready
    if [ "$kept" = yes ]; then
        [ "$(in_session "$own" 'pwd; cat ../file')" = $'/workspace/deep\nkept' ] || fail "files are gone after a kill"
        if [ -n "$whole" ]; then
            systemctl restart airlock-runner
            wait_ready
            [ "$(in_session "$own" 'cat ../file')" = kept ] || fail "files are gone after a restart"
        fi
        said=$(in_session "$own" 'cd /workspace; (head -c 200M /dev/zero > big) 2>&1; rm -f big') || true
        grep -q "$refusal" <<<"$said" || fail "it is not held after a restart"
    else
        # The memory of the session ended with the unit: the session is lost, and not empty.
        if in_session "$own" 'echo it ran' >/tmp/said 2>&1; then fail "it ran: $(cat /tmp/said)"; fi
        cat /tmp/said
        said=$(airlock session list --all --token-file $TOKEN --json)
        echo "$said"
        grep -q 'were in memory' <<<"$said" || fail "it is not said why"
        own=$(session) other=$(session)
    fi
    pid=$(systemctl show -P MainPID airlock-runner)
    airlock session close --token-file $TOKEN "$own" "$other"
    gone "$pid"
}

bytes_and_inodes_end() { # SESSION REFUSAL
    local own=$1 refusal=$2 said
    # A command that fills the disk continues, and the kernel reports the error to it.
    said=$(ended_in "$own" 'head -c 200M /dev/zero > big 2> why; code=$?; echo end > /dev/null; exit $code')
    has_result "$said" '.cause.code == "EXITED" and .exit_code != 0 and any(.violations[]; .layer == "disk" and .kind == "full")'
    said=$(in_session "$own" 'rm -f why; truncate -s -1M big; ls -s --block-size=1 big | cut -d " " -f 1; (head -c 90M /dev/zero > ~/more) 2>&1; df --output=size -B1 /workspace | tail -n 1; rm big ~/more') || true
    echo "$said"
    [ "$(head -n 1 <<<"$said")" -le $BYTES ] && [ "$(head -n 1 <<<"$said")" -gt $((BYTES / 2)) ] || fail "it took more than it may, or much less"
    grep -q "$refusal" <<<"$said" || fail "the refusal is another"
    [ "$(tail -n 1 <<<"$said")" -le $BYTES ] || fail "df shows more than it may take"
    # Inodes.
    said=$(in_session "$own" 'for i in $(seq 1500); do : > f$i || break; done; ls | wc -l; rm -f f*' 2>&1) || true
    echo "$said"
    grep -q "$refusal" <<<"$said" || fail "any number of files can be made"
    [ "$(grep -E '^[0-9]+$' <<<"$said")" -le $((INODES * 2)) ] || fail "too many files were made"
}

full_session_loses_nothing() { # SESSION
    local own=$1 said
    # An upload into a full session reports that, and loses no data.
    in_session "$own" 'echo mine > mine; head -c 200M /dev/zero > big' 2>/dev/null || true
    head -c 2M /dev/urandom >/tmp/upload
    if airlock cp --token-file $TOKEN /tmp/upload "$own:upload" >/tmp/said 2>&1; then fail "there was room for it"; fi
    cat /tmp/said
    grep -qi full /tmp/said || fail "it is not said that it is full"
    [ "$(in_session "$own" 'cat mine; ls -A')" = $'mine\nbig\nmine' ] || fail "something was lost or left: $(in_session "$own" 'ls -lA')"
    # The protection of names also works in a full session.
    in_session "$own" 'rm -f big'
    said=$(ended_in "$own" 'at=$(printf .vs)code; mkdir -p "$at"; echo x > "$at/tasks.json"; head -c 200M /dev/zero > ~/rest')
    has_result "$said" 'any(.violations[]; .layer == "protected_names") or .cause.code == "SANDBOX_FAILED"'
    in_session "$own" 'rm -f ~/rest; echo room > room'
}

# Checks that nothing of any session is left: no directory, mount, limit, or loop device except that of the state.
gone() { # PID
    for _ in $(seq 600); do
        [ -z "$(ls -A $STATE/sessions $STATE/trash | grep -v :)" ] && break
        sleep 0.2
    done
    ls -A $STATE/sessions $STATE/trash
    [ -z "$(ls -A $STATE/sessions | grep -v :)" ] || fail "directories are left"
    if grep "$STATE/sessions/" "/proc/$1/mountinfo"; then fail "mounts are left"; fi
    for _ in $(seq 600); do
        [ "$(losetup -n -O BACK-FILE | grep -c sessions)" = 0 ] && break
        sleep 0.2
    done
    if losetup -n -O BACK-FILE | grep sessions; then fail "loop devices are left"; fi
}

check_quotas_of_projects_on_ext4_hold() {
    with_disk ext4 prjquota quota
    held_by_the_kernel quota 'Disk quota exceeded' yes whole
    without_disk
}

check_quotas_of_projects_on_xfs_hold_and_are_found() {
    with_disk xfs prjquota auto
    held_by_the_kernel quota 'No space left on device\|Disk quota exceeded' yes
    without_disk
}

check_images_hold() {
    with_disk ext4 noatime loop
    held_by_the_kernel loop 'No space left on device' yes
    without_disk
}

check_memory_holds() {
    with_disk ext4 noatime tmpfs
    held_by_the_kernel tmpfs 'No space left on device' no whole
    without_disk
}

check_without_quotas_auto_counts_and_says_so() {
    local said own other
    with_disk ext4 noatime auto
    wait_ready
    disk_is '$doctor.state == "degraded" and ($doctor.seen | startswith("watch: ")) and
        ($doctor.remedy | contains("prjquota")) and ($server.enforced | not)'
    own=$(session) other=$(session)
    in_session "$other" 'echo kept > file'
    said=$(ended_in "$own" 'head -c 200M /dev/zero > big; stat -c %s big; sleep 100')
    has_result "$said" '.cause.code == "DISK_LIMIT" and any(.violations[]; .layer == "disk" and .kind == "limit" and (.detail | contains("workspace.bytes")))'
    # Control of all limits: without a limit the file grows beyond it.
    [ "$(in_session "$own" 'stat -c %s big')" -gt $BYTES ] || fail "the control failed: something held it"
    [ "$(in_session "$other" 'cat file')" = kept ] || fail "the neighbour was disturbed"
    without_disk
}

check_a_backend_that_is_named_and_cannot_be_had_keeps_the_runner_down() {
    local said
    with_disk ext4 noatime quota
    for _ in $(seq 600); do
        journalctl --no-pager -u airlock-runner -n 30 | grep -q 'workspace.backend' && break
        sleep 0.2
    done
    said=$(journalctl --no-pager -u airlock-runner -n 30)
    grep 'workspace.backend. .quota. does not work here: .*prjquota' <<<"$said" || fail "$said"
    if airlock-runner ready --config $CONFIG; then fail "it is ready"; fi
    said=$(airlock-runner doctor --config $CONFIG) && fail "doctor calls it well: $said"
    grep -A 2 '^failed *disk_quota' <<<"$said" || fail "$said"
    without_disk
}

check_a_disk_that_runs_full_ends_the_one_who_fills_it() {
    local idle own other said
    # A small disk is full soon.
    STATE_SIZE=360M with_disk ext4 prjquota quota
    wait_ready
    # The limits add up to more than the disk has.
    set_workspace 'backend = "quota"' "bytes = $((300 * MIB))" 'inodes = 100000'
    sed -i 's/^# disk_reserve_bytes.*/disk_reserve_bytes = 209715200/' $CONFIG
    systemctl restart airlock-runner
    wait_ready
    own=$(session) other=$(session)
    idle=$(airlock start --token-file $TOKEN --session "$other" -- 'for i in $(seq 600); do echo on >> log; sleep 0.1; done')
    said=$(ended_in "$own" 'i=0; while head -c 4M /dev/zero >> big; do sleep 0.1; done; sleep 100')
    has_result "$said" '.cause.code == "DISK_LIMIT" and any(.violations[]; .layer == "disk" and .kind == "reserve")'
    said=$(airlock show --token-file $TOKEN --json "$idle")
    has_result "$said" '. == null or .cause.code == "EXITED"'
    # New work is refused with a message.
    said=$(in_session "$own" 'echo it ran' 2>&1) && fail "it ran below the reserve: $said"
    grep -q 'disk_reserve_bytes' <<<"$said" || fail "$said"
    said=$(session 2>&1) && fail "a session was made below the reserve: $said"
    grep -q 'disk_reserve_bytes' <<<"$said" || fail "$said"
    airlock session close --token-file $TOKEN "$own" "$other"
    for _ in $(seq 600); do [ -z "$(ls -A $STATE/sessions)" ] && break; sleep 0.2; done
    [ "$(inside -- 'echo on')" = on ] || fail "nothing runs although there is room again"
    without_disk
}
