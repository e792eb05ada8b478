# Stopping the unit. Last, because nothing runs after it.

# Mounts that any process sees below the runner's folder, but for the host's own file systems.
runner_mounts() {
    cat /proc/[0-9]*/mountinfo 2>/dev/null | grep -F /airlock-runner | grep -v ' - cgroup2 ' | sort -u
}

check_stopping_leaves_no_process_mount_or_cgroup() {
    airlock start --token-file $TOKEN -- 'sleep 1000 & setsid sleep 1000 & trap "" TERM; while :; do sleep 1; done' >/dev/null
    until [ "$(session_processes | wc -l)" -ge 3 ]; do sleep 0.2; done
    [ -n "$(runner_mounts)" ] || fail "no mount was seen while it ran, so none could be missed"
    [ -d $UNIT_CGROUP ] || fail "no cgroup was seen while it ran"
    systemctl stop airlock-runner
    [ "$(systemctl show -P Result airlock-runner)" = success ] || fail "it was stopped by force: $(systemctl show -P Result airlock-runner)"
    [ -z "$(session_processes)" ] || fail "processes: $(session_processes)"
    [ -z "$(runner_mounts)" ] || fail "mounts: $(runner_mounts)"
    [ ! -e $UNIT_CGROUP ] || fail "cgroups: $(find $UNIT_CGROUP -type d)"
}
