# Tests the units: systemd accepts them, and both programs work under their hardening.

check_systemd_finds_nothing_wrong_with_them() {
    local said
    said=$(systemd-analyze verify --man=no /etc/systemd/system/airlock-{runner,server}.service 2>&1)
    [ -z "$said" ] || fail "$said"
    # Control: an error is detected.
    sed 's/^Restart=.*/Restart=sometimes/' /etc/systemd/system/airlock-runner.service >/tmp/airlock-wrong.service
    said=$(systemd-analyze verify --man=no /tmp/airlock-wrong.service 2>&1) || true
    [[ $said == *sometimes* ]] || fail "a wrong line was not found: $said"
}

check_both_are_up_and_a_command_runs() {
    systemctl is-active airlock-server airlock-runner
    local said
    said=$(inside -- 'id -u; pwd')
    [ "$said" = $'1000\n/workspace' ] || fail "the command said: $said"
}

check_the_server_is_not_root_and_cannot_read_the_hosts_keys() {
    local pid uid
    pid=$(systemctl show -P MainPID airlock-server)
    uid=$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")
    [ "$uid" -ne 0 ] || fail "the server is root"
    [ "$(awk '/^CapBnd:/ { print $2 }' "/proc/$pid/status")" = 0000000000000000 ] || fail "it can get capabilities"
    # Reads with the server's own user, outside its unit's namespace.
    setpriv --reuid "$uid" --regid "$uid" --clear-groups cat /etc/airlock/tls/server.key && fail "the key is readable"
    [ "$(stat -c %a /etc/airlock/tls/server.key)" = 600 ] || fail "the key's mode"
}

check_the_runner_has_only_the_capabilities_of_its_unit() {
    local pid
    pid=$(systemctl show -P MainPID airlock-runner)
    # CAP_SYS_MODULE is 16, CAP_SYS_BOOT 22, CAP_SYS_TIME 25, CAP_SYSLOG 34, CAP_MKNOD 27.
    local bounding=0x$(awk '/^CapBnd:/ { print $2 }' "/proc/$pid/status") capability
    for capability in 16 22 25 27 34; do
        [ $((bounding >> capability & 1)) -eq 0 ] || fail "it could get capability $capability"
    done
}

check_the_controllers_of_its_cgroup_are_delegated() {
    local controllers
    controllers=$(cat $UNIT_CGROUP/cgroup.controllers)
    for name in cpu memory pids; do
        [[ " $controllers " == *" $name "* ]] || fail "no $name in: $controllers"
    done
}

check_a_runner_that_is_killed_starts_again_and_leaves_nothing_of_its_commands() {
    local before id
    before=$(systemctl show -P MainPID airlock-runner)
    id=$(airlock start --token-file $TOKEN -- 'sleep 1000 & setsid sleep 1000 & wait')
    until [ "$(session_processes | wc -l)" -ge 3 ]; do sleep 0.2; done
    kill -KILL "$before"
    until [ "$(systemctl show -P MainPID airlock-runner)" != "$before" ]; do sleep 0.2; done
    wait_ready
    [ -z "$(session_processes)" ] || fail "still there: $(session_processes)"
    airlock show --token-file $TOKEN --json "$id" | grep -qi runner_lost || fail "$(airlock show --token-file $TOKEN "$id")"
    [ "$(inside -- 'echo again')" = again ] || fail "no command runs any more"
}
