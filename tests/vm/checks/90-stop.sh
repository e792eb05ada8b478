# Tests stopping the unit. This runs last, because no command runs afterwards.

# Prints the mounts below the runner's directory that any process sees, except the host's own file
# systems.
runner_mounts() {
    cat /proc/[0-9]*/mountinfo 2>/dev/null | grep -F /airlock-runner | grep -v ' - cgroup2 ' | sort -u
}

check_before_a_host_goes_down_what_runs_may_end_and_nothing_new_begins() {
    local id drain said
    id=$(airlock start --token-file $TOKEN -- 'trap "echo whole; exit" USR1; echo begun; while :; do sleep 0.2; done')
    until airlock logs --token-file $TOKEN "$id" | grep begun; do sleep 0.1; done
    airlock-runner drain --config /etc/airlock/runner.toml &
    drain=$!
    # The drain waits for the running command, which continues.
    while airlock-runner ready --config /etc/airlock/runner.toml; do sleep 0.2; done
    kill -0 $drain || fail "it does not wait for what runs"
    airlock signal --token-file $TOKEN -s USR1 "$id"
    wait $drain
    # The server learns of the end shortly after the runner.
    airlock wait --token-file $TOKEN "$id" >/dev/null || fail "it was not left to end: $(airlock show --token-file $TOKEN "$id")"
    said=$(airlock logs --token-file $TOKEN "$id")
    # bash may report a `sleep` that the signal ended.
    [ "$(head -n 1 <<<"$said")" = begun ] && [ "$(tail -n 1 <<<"$said")" = whole ] || fail "its output is not whole: $said"
    airlock-runner ready --config /etc/airlock/runner.toml && fail "it would take new commands"
    systemctl restart airlock-runner
    wait_ready
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
