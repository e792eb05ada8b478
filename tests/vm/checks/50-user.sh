# Tests a runner of an ordinary user, under that user's systemd. It replaces the other runner.

AGENT_UNIT=/sys/fs/cgroup/user.slice/user-1500.slice/user@1500.service/app.slice/airlock-runner.service

as_agent() {
    setpriv --reuid 1500 --regid 1500 --init-groups --reset-env \
        env XDG_RUNTIME_DIR=/run/user/1500 AIRLOCK_ADDRESS=$AIRLOCK_ADDRESS "$@"
}

check_its_unit_starts_below_the_users_systemd() {
    systemctl stop airlock-runner
    useradd --uid 1500 --create-home agent
    local config=/home/agent/.config
    mkdir -p $config/airlock $config/systemd/user
    cp /etc/airlock/ca.pem /etc/airlock/runner.pem /etc/airlock/runner.key $config/airlock
    sed -e 's|"runner-1"|"runner-2"|' -e "s|\"/etc/airlock/|\"$config/airlock/|" \
        -e 's|"/var/lib/airlock-runner"|"/home/agent/runner"|' /etc/airlock/runner.toml >$config/airlock/runner.toml
    cp /payload/deploy/systemd/user/airlock-runner.service $config/systemd/user
    chown -R agent:agent /home/agent
    loginctl enable-linger agent
    until [ -S /run/user/1500/bus ]; do sleep 0.2; done
    as_agent systemctl --user enable --now airlock-runner
    until as_agent airlock-runner ready --config $config/airlock/runner.toml; do sleep 0.5; done
    local said
    said=$(as_agent systemd-analyze --user verify --man=no $config/systemd/user/airlock-runner.service 2>&1)
    [ -z "$said" ] || fail "$said"
}

check_its_commands_run_in_a_sandbox() {
    [ "$(inside -- 'id -u; pwd')" = $'1000\n/workspace' ] || fail "the command did not run as it should"
    refused_inside 'cat /home/agent/.config/airlock/runner.key'
    local found
    found=$(inside -- 'airlock-probe capabilities; airlock-probe namespaces; airlock-probe mount; airlock-probe clock')
    echo "$found"
    [ "$(jq -s 'length == 4 and all(.[]; .reached | not)' <<<"$found")" = true ] || fail "something was reached"
}

check_it_says_that_sessions_share_its_user() {
    local shown
    shown=$(airlock runners show runner-2 --cert /etc/airlock/lead.pem --key /etc/airlock/lead.key --json)
    echo "$shown"
    jq -e '.capabilities | any(.name == "uid_isolation" and .enforced == false)' <<<"$shown" || fail "the report does not say it"
    shown=$(as_agent airlock-runner doctor --config /home/agent/.config/airlock/runner.toml --json) || true
    echo "$shown"
    jq -e 'any(.checks[]; .name == "uid_isolation" and .state != "ok" and .remedy != "")' <<<"$shown" || fail "doctor does not"
}

# The following checks use the controllers that systemd delegates to the user.
runner_pid() { as_agent systemctl --user show -P MainPID airlock-runner; }

check_a_process_that_fills_memory_ends_as_oom_killed() {
    out_of_memory 'echo | airlock-probe hold memory:104857600 | grep held'
}

check_a_memory_file_that_fills_memory_ends_as_oom_killed() {
    out_of_memory 'echo | airlock-probe hold memfd:104857600 | grep held'
}

check_files_in_dev_shm_count_as_memory() {
    # The shared memory cannot hold all of it, and the rest alone is below the limit.
    out_of_memory 'head -c 62914560 /dev/zero > /dev/shm/filled && echo | airlock-probe hold memory:44040192 | grep held'
}

check_more_processes_than_the_limit_cannot_be_made() {
    few_at_once fork-bomb 100
}

check_numbers_of_processes_cannot_be_used_up_by_what_does_not_run() {
    few_at_once pids 100
}

# The checks of the other runner include the controls.
check_what_would_touch_the_whole_host_fails_for_its_commands_too() {
    local words found=
    for words in clock module kernel-log reboot sysctl 'device /tmp' 'call swapon'; do
        found+=$(inside -- "airlock-probe $words")$'\n'
    done
    nothing_was_reached "$found" 7
}

check_stopping_its_unit_leaves_no_process_and_no_cgroup() {
    local id
    id=$(airlock start --token-file $TOKEN -- 'sleep 1234 & setsid sleep 1234 & wait')
    until [ "$(pgrep -c -f '^sleep 1234')" -ge 2 ]; do sleep 0.2; done
    [ -d $AGENT_UNIT ] || fail "no cgroup was seen while it ran"
    as_agent systemctl --user disable --now airlock-runner
    if pgrep -a -f '^sleep 1234'; then fail "its command runs on"; fi
    [ ! -e $AGENT_UNIT ] || fail "cgroups: $(find $AGENT_UNIT -type d)"
    loginctl disable-linger agent
    systemctl start airlock-runner
    wait_ready
}
