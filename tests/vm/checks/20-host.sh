# Tests operations that would affect the whole host. The probe tries each inside, where every variant must
# fail. Root tries each outside as a control, where every variant must succeed; this machine exists for these
# controls.

everything_works_outside() { # TEST [WORD...]
    local found
    found=$(airlock-probe "$@")
    all_were_reached "$found"
}

all_were_reached() { # FOUND [TESTS]
    echo "outside: $1"
    jq -es --argjson tests "${2:-1}" 'length == $tests and all(.[]; .ways | length > 0 and all(.reached))' <<<"$1" ||
        fail "the control failed"
}

check_only_outside_the_clock_can_be_set() {
    everything_fails_inside clock
    everything_works_outside clock
    refused_inside 'date --set @1000000000'
    [ "$(date +%s)" -gt 1000000000 ] || fail "the clock was set from inside"
    local now
    now=$(date +%s)
    date --set @1000000000
    [ "$(date +%s)" -lt 1000001000 ] || fail "the control did not set it"
    date --set "@$now"
}

check_only_outside_a_module_can_be_loaded() {
    everything_fails_inside module
    everything_works_outside module
    refused_inside 'modprobe dummy || insmod $(find /usr/lib/modules -name "dummy.ko*" | head -n 1)'
    grep -q '^dummy ' /proc/modules && fail "it was loaded from inside"
    modprobe dummy
    grep -q '^dummy ' /proc/modules || fail "the control did not load it"
    rmmod dummy
}

check_only_outside_the_kernel_log_can_be_read_and_cleared() {
    echo airlock-mark >/dev/kmsg
    everything_fails_inside kernel-log
    everything_works_outside kernel-log
    refused_inside 'dmesg | grep airlock-mark'
    refused_inside 'dmesg --clear'
    dmesg | grep airlock-mark || fail "the mark is gone, or the control does not read it"
    dmesg --clear
    if dmesg | grep airlock-mark; then fail "the control did not clear it"; fi
}

check_only_outside_the_machine_can_be_asked_to_restart() {
    everything_fails_inside reboot
    # The control is the last check of this machine.
    refused_inside 'reboot --force --force'
    refused_inside 'echo b > /proc/sysrq-trigger'
    everything_works_outside reboot
    dmesg --clear
    echo h >/proc/sysrq-trigger
    dmesg | grep -i sysrq || fail "the control did not reach sysrq"
}

check_only_outside_the_kernels_settings_can_be_changed() {
    everything_fails_inside sysctl
    refused_inside 'echo 1 > /proc/sys/kernel/panic_on_oops'
    refused_inside 'sysctl -w kernel.core_pattern="|/bin/true"'
    local before
    before=$(sysctl -n kernel.core_pattern)
    sysctl -w kernel.core_pattern=other
    [ "$(sysctl -n kernel.core_pattern)" = other ] || fail "the control did not change it"
    sysctl -w kernel.core_pattern="$before"
}

check_the_controls_of_the_escape_suite_work_here() {
    local words found= tests=0
    while read -ra words; do
        case ${words[0]-} in '' | '#') continue ;; esac
        found+=$(airlock-probe "${words[@]}" </dev/null)$'\n'
        tests=$((tests + 1))
    done <in_vm.txt
    [ $tests -gt 0 ] || fail "in_vm.txt names no test"
    all_were_reached "$found" $tests
}
