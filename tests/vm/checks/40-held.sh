# Tests hosts that restrict user namespaces. Each switch is set alone: doctor must name it, no command may run, and
# everything must work again after it is reset.

doctor() { # prints its findings as JSON; the exit code is 0 if every check passed
    airlock-runner doctor --config /etc/airlock/runner.toml --json || true
}

# Returns whether a failed check mentions the switch.
names() { # WORD FOUND [AND]
    jq -e --arg word "$1" "any(.checks[]; .state != \"ok\" and (.seen + .remedy | contains(\$word))) ${3-}" <<<"$2" >/dev/null
}

held_back() { # SWITCH VALUE REMEDY
    local before found code=0
    before=$(sysctl -n "$1")
    if names "$3" "$(doctor)"; then fail "\`$3\` is named although nothing holds it back"; fi
    sysctl -w "$1=$2"
    found=$(doctor)
    inside -- 'echo it ran' >/tmp/said 2>&1 || code=$?
    sysctl -w "$1=$before"
    names "$3" "$found" "and (.ok | not)" || fail "\`$3\` is not named, or it is called well: $found"
    if [ "$code" -ne 125 ] || grep -q '^it ran' /tmp/said; then fail "the command ran, or ended with $code: $(cat /tmp/said)"; fi
    [ "$(inside -- 'echo it ran')" = 'it ran' ] || fail "nothing runs although the switch is as it was"
}

check_debians_switch_for_user_namespaces_is_named() {
    held_back kernel.unprivileged_userns_clone 0 kernel.unprivileged_userns_clone=1
}

check_a_count_of_no_user_namespaces_is_named() {
    held_back user.max_user_namespaces 0 user.max_user_namespaces
}

check_a_count_of_no_network_namespaces_is_named() {
    held_back user.max_net_namespaces 0 user.max_net_namespaces
}

check_a_profile_of_apparmor_that_confines_bubblewrap_is_named() {
    [ "$(cat /sys/module/apparmor/parameters/enabled)" = Y ] || fail "this kernel runs without AppArmor"
    local found code=0
    printf 'abi <abi/3.0>,\nprofile airlock-check-bwrap /usr/bin/bwrap {\n  file,\n}\n' >/tmp/airlock-check-bwrap
    apparmor_parser --replace /tmp/airlock-check-bwrap
    found=$(doctor)
    inside -- 'echo it ran' >/tmp/said 2>&1 || code=$?
    apparmor_parser --remove /tmp/airlock-check-bwrap
    names airlock-check-bwrap "$found" "and (.ok | not)" || fail "the profile is not named, or it is called well: $found"
    if [ "$code" -ne 125 ] || grep -q '^it ran' /tmp/said; then fail "the command ran, or ended with $code: $(cat /tmp/said)"; fi
    [ "$(inside -- 'echo it ran')" = 'it ran' ] || fail "nothing runs although the profile is gone"
}
