# Tests the limits on memory, processes and CPU, with the controllers of the runner's unit. Profile `vm_small` has low
# limits and `vm` has high ones. A command that fails under the first must succeed under the second, which proves that
# the limit caused the failure.

runner_pid() { systemctl show -P MainPID airlock-runner; }

# Prints the directory of the only sandbox's cgroup.
sandbox_cgroup() {
    local process group=
    # The first process found may end before its cgroup is read.
    until [ -n "$group" ] && [ -e "/sys/fs/cgroup$group/pids.max" ]; do
        sleep 0.1
        process=$(session_processes | head -n 1)
        [ -z "$process" ] || group=$(sed 's/^0:://' "$(dirname "$process")/cgroup" 2>/dev/null) || true
    done
    printf '/sys/fs/cgroup%s\n' "$group"
}

value() { # FILE KEY
    awk -v key="$2" '$1 == key { print $2 }' "$1"
}

check_a_process_that_fills_memory_ends_as_oom_killed() {
    out_of_memory 'echo | airlock-probe hold memory:104857600 | grep held'
}

check_a_memory_file_that_fills_memory_ends_as_oom_killed() {
    out_of_memory 'echo | airlock-probe hold memfd:104857600 | grep held'
}

check_many_processes_that_fill_memory_end_as_oom_killed_together() {
    out_of_memory 'for i in 1 2 3 4 5 6 7 8; do sleep 600 | airlock-probe hold memory:13631488 > said.$i & done
        until [ $(cat said.* | grep -c held) -eq 8 ]; do sleep 0.1; done; kill $(jobs -p); true'
}

check_files_in_dev_shm_count_as_memory() {
    # The shared memory cannot hold all of it, and the rest alone is below the limit.
    out_of_memory 'head -c 62914560 /dev/zero > /dev/shm/filled && echo | airlock-probe hold memory:44040192 | grep held'
}

check_a_fork_bomb_is_stopped_and_the_machine_goes_on() {
    local id group before
    before=$(runner_pid)
    id=$(start_small 'bomb() { bomb | bomb & wait; }; bomb; sleep 600')
    group=$(sandbox_cgroup)
    until [ "$(cat "$group/pids.current")" -ge 60 ]; do sleep 0.2; done
    cat "$group/pids.max" "$group/pids.current" "$group/pids.events"
    # The cgroup's limit is above the profile's, because it includes the sandbox's own processes.
    [ "$(cat "$group/pids.max")" -le 80 ] || fail "pids.max is $(cat "$group/pids.max")"
    [ "$(cat "$group/pids.current")" -le "$(cat "$group/pids.max")" ] || fail "more than pids.max"
    [ "$(inside --profile vm -- 'echo on')" = on ] || fail "another session is held up"
    [ "$(runner_pid)" = "$before" ] || fail "the runner was started again"
    airlock kill --token-file $TOKEN "$id"
    has_result "$(ended "$id")" 'any(.violations[]; .layer == "resources" and .kind == "processes")'
    [ -z "$(session_processes)" ] || fail "left: $(session_processes)"
    [ ! -e "$group" ] || fail "its cgroup is left"
}

check_more_processes_than_the_limit_cannot_be_made() {
    few_at_once fork-bomb 100
}

check_numbers_of_processes_cannot_be_used_up_by_what_does_not_run() {
    few_at_once pids 100
}

# Runs two busy loops until the counters of their cgroup, copied to /tmp/cpu.stat, pass a test. Leaves the counters and
# the result in files.
busy() { # PROFILE TEST [WORD...]
    local id group profile=$1
    shift
    id=$(airlock start --token-file $TOKEN --profile "$profile" -- '(while :; do :; done) & while :; do :; done')
    group=$(sandbox_cgroup)
    for _ in $(seq 500); do
        cat "$group/cpu.stat" >/tmp/cpu.stat
        "$@" && break
        sleep 0.2
    done
    airlock kill --token-file $TOKEN "$id"
    ended "$id" >/tmp/ended
    cat /tmp/cpu.stat /tmp/ended
    "$@" || fail "their counters never were as they should: $*"
}

# Returns whether the loops were throttled in 20 periods and got 500 thousandths of a processor instead of 2000. A
# period is 100 ms; the current one counts too. The usage can exceed the limit for a while if the machine pauses; later
# periods compensate for it.
held_to_half_a_processor() {
    awk '/^usage_usec/ { used = $2 } /^nr_periods/ { periods = $2 } /^nr_throttled/ { throttled = $2 }
        END { exit !(throttled >= 20 && used / (periods + 1) / 100 <= 600) }' /tmp/cpu.stat
}

used_as_much() { # MICROSECONDS
    [ "$(value /tmp/cpu.stat usage_usec)" -ge "$1" ]
}

check_two_busy_loops_get_half_a_processor_and_their_usage_is_read_back() {
    busy vm_small held_to_half_a_processor
    has_result "$(cat /tmp/ended)" '.cpu_time * 1000000 >= $used' --argjson used "$(value /tmp/cpu.stat usage_usec)"
    # Control: the same usage is not throttled under high limits.
    busy vm used_as_much "$(value /tmp/cpu.stat usage_usec)"
    [ "$(value /tmp/cpu.stat nr_throttled)" -eq 0 ] || fail "the control was held up"
}

check_the_limits_are_those_of_the_profile() {
    local id group
    id=$(start_small 'sleep 600')
    group=$(sandbox_cgroup)
    [ "$(cat "$group/memory.max")" = $((64 * MIB)) ] || fail "memory.max: $(cat "$group/memory.max")"
    [ "$(cat "$group/memory.swap.max")" = 0 ] || fail "memory.swap.max: $(cat "$group/memory.swap.max")"
    [ "$(cat "$group/cpu.max")" = '50000 100000' ] || fail "cpu.max: $(cat "$group/cpu.max")"
    # A second check: all processes of the execution must be in the cgroup.
    [ -z "$(session_processes | while read -r process; do grep -LF "${group#/sys/fs/cgroup}" "$(dirname "$process")/cgroup"; done)" ] ||
        fail "a process of it is in another cgroup"
    airlock kill --token-file $TOKEN "$id"
}
