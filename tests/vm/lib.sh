# What the checks share: setting Airlock up as its documentation says, and asking it for things. Sourced.

# The checks mount, remove and reboot without looking back; on any other machine nothing of them runs.
if [ "$(cat /etc/hostname)" != airlock-vm ] || [ ! -d /payload/vm ]; then
    echo "the checks of tests/vm run in their virtual machine only: scripts/vm.sh" >&2
    exit 1
fi

export AIRLOCK_ADDRESS=https://airlock-server.example:7443 AIRLOCK_CA=/etc/airlock/ca.pem
TOKEN=/etc/airlock/orchestrator.token
UNIT_CGROUP=/sys/fs/cgroup/system.slice/airlock-runner.service
# uids.first and uids.count of deploy/runner.toml.
FIRST_UID=2000000
LAST_UID=2004095
MIB=1048576

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# The programs, the example configurations and the units, as they are in deploy/.
install_airlock() {
    install -m 0755 /payload/bin/* /usr/local/bin
    echo 127.0.0.1 airlock-server.example >>/etc/hosts
    mkdir -p /etc/airlock/tls /etc/airlock/profiles
    cp /payload/vm/profiles/*.toml /etc/airlock/profiles
    airlock keys /etc/airlock --server airlock-server.example --client runner=spiffe://example.org/airlock/runner \
        --client lead=lead.example.org --token orchestrator
    mv /etc/airlock/server.pem /etc/airlock/server.key /etc/airlock/tls
    cp /etc/airlock/ca.pem /etc/airlock/tls/clients-ca.pem
    sed -e 's|"/etc/airlock/tls/|"/run/credentials/airlock-server.service/|' \
        -e "s|match = { token_sha256.*|$(airlock-server hash-token <$TOKEN)|" \
        -e 's|^# directory = "/etc/airlock/profiles"|directory = "/etc/airlock/profiles"|' \
        -e 's|^profiles = \["strict"|profiles = ["vm", "vm_small", "strict"|' \
        /payload/deploy/server.toml >/etc/airlock/server.toml
    # A drain that waits longer would show no more.
    sed -e '/^\[drain\]/,$ s|^grace = .*|grace = "2s"|' /payload/deploy/runner.toml >/etc/airlock/runner.toml
    cp /payload/deploy/systemd/*.service /etc/systemd/system
    systemctl daemon-reload
    systemctl enable --now airlock-server airlock-runner
    wait_ready
}

wait_ready() {
    for _ in $(seq 3000); do
        airlock-runner ready --config /etc/airlock/runner.toml >/dev/null 2>&1 && return
        sleep 0.2
    done
    journalctl --no-pager -u airlock-runner -u airlock-server | tail -n 40
    fail "the runner did not become ready"
}

# Runs a command; its output and exit code are the command's own.
inside() { # [OPTION...] -- COMMAND
    airlock run --token-file "$TOKEN" "$@"
}

# The command must fail inside, and what it says is not looked at.
refused_inside() { # COMMAND
    if inside -- "$1"; then fail "\`$1\` succeeded inside"; fi
}

# Processes of sessions, by their uids.
session_processes() {
    awk -v first=$FIRST_UID -v last=$LAST_UID '/^Uid:/ && $2 >= first && $2 <= last { print FILENAME }' \
        /proc/[0-9]*/status 2>/dev/null
}

# Every way of a test of the probe must fail inside.
everything_fails_inside() { # TEST [WORD...]
    local found
    found=$(inside -- "airlock-probe $*")
    echo "inside: $found"
    [ "$(jq '.ways | length > 0 and all(.reached | not)' <<<"$found")" = true ] || fail "it was reached from inside"
}

# Starts a command with little room; prints its id.
start_small() { # COMMAND
    airlock start --token-file $TOKEN --profile vm_small -- "$1"
}

# The end of an execution, as JSON.
result() { # ID
    airlock wait --token-file $TOKEN "$1" >&2 || true
    airlock show --token-file $TOKEN --json "$1" | jq .result
}

# Fills memory: with little of it that ends the command and nothing else. `runner_pid` is the caller's.
out_of_memory() { # COMMAND
    local before said
    before=$(runner_pid)
    said=$(result "$(start_small "$1")")
    echo "$said"
    jq -e '.cause.code == "OOM_KILLED"' <<<"$said" || fail "it did not end as OOM_KILLED"
    jq -e --argjson mib $MIB '.peak_memory > 50 * $mib and .peak_memory <= 64 * $mib' <<<"$said" || fail "its peak"
    [ "$(runner_pid)" = "$before" ] || fail "the runner did not outlive it"
    [ "$(inside --profile vm_small -- 'echo on')" = on ] || fail "no command runs any more"
    # Control.
    said=$(result "$(airlock start --token-file $TOKEN --profile vm -- "$1")")
    echo "$said"
    jq -e --argjson mib $MIB '.cause.code == "EXITED" and .exit_code == 0 and .peak_memory >= 100 * $mib' <<<"$said" ||
        fail "the control failed"
}

# Every way of a test of the probe fails where few processes are allowed, and works where there may be plenty.
few_at_once() { # TEST [WORD...]
    local found
    found=$(inside --profile vm_small -- "airlock-probe $*")
    echo "$found"
    jq -e '.ways | length > 1 and all(.reached | not)' <<<"$found" || fail "they were made"
    # Control.
    found=$(inside --profile vm -- "airlock-probe $*")
    echo "$found"
    jq -e '.ways | all(.reached)' <<<"$found" || fail "the control failed"
}
