# Shared by the checks: installs Airlock as documented, and sends requests to it. This file is sourced.

# The checks mount, remove and reboot without precautions, so they refuse to run on any other machine.
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

# Installs the programs, the example configurations and the units, as they are in deploy/.
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
    # A longer drain would not test anything else.
    sed -e '/^\[drain\]/,$ s|^grace = .*|grace = "2s"|' /payload/deploy/runner.toml >/etc/airlock/runner.toml
    cp /payload/deploy/systemd/*.service /etc/systemd/system
    systemctl daemon-reload
    systemctl enable --now airlock-server airlock-runner
    wait_ready
}

wait_ready() {
    for _ in $(seq 1200); do
        airlock-runner ready --config /etc/airlock/runner.toml >/dev/null 2>&1 && return
        sleep 0.5
    done
    journalctl --no-pager -u airlock-runner -u airlock-server | tail -n 40
    fail "the runner did not become ready"
}

# Runs a command. Its output and exit code are those of the command.
inside() { # [OPTION...] -- COMMAND
    airlock run --token-file "$TOKEN" "$@"
}

# Checks that the command fails inside, and ignores its output.
refused_inside() { # COMMAND
    if inside -- "$1"; then fail "\`$1\` succeeded inside"; fi
}

# Prints the processes of sessions, by their uids.
session_processes() {
    awk -v first=$FIRST_UID -v last=$LAST_UID '/^Uid:/ && $2 >= first && $2 <= last { print FILENAME }' \
        /proc/[0-9]*/status 2>/dev/null
}

# Checks that every variant of a probe test fails inside.
everything_fails_inside() { # TEST [WORD...]
    local found
    found=$(inside -- "airlock-probe $*")
    nothing_was_reached "$found"
}

nothing_was_reached() { # FOUND [TESTS]
    echo "inside: $1"
    jq -es --argjson tests "${2:-1}" 'length == $tests and all(.[]; .ways | length > 0 and all(.reached | not))' <<<"$1" ||
        fail "it was reached from inside"
}

# Starts a command with low limits, and prints its id.
start_small() { # COMMAND
    airlock start --token-file $TOKEN --profile vm_small -- "$1"
}

# Prints an execution that has ended as JSON.
ended() { # ID
    airlock wait --token-file $TOKEN "$1" >&2 || true
    airlock show --token-file $TOKEN --json "$1"
}

# Checks the result of an execution. Each start of jq takes as long as a command in a sandbox, so one call checks all.
has_result() { # EXECUTION FILTER [OPTION...]
    local execution=$1 filter=$2
    shift 2
    echo "$execution"
    jq -e "$@" ".result | $filter" <<<"$execution" || fail "the result is not as it should be: $filter"
}

# Checks that a command that fills memory under low limits is killed, and that nothing else ends. The caller
# defines `runner_pid`.
out_of_memory() { # COMMAND
    local before said
    before=$(runner_pid)
    said=$(ended "$(start_small "$1")")
    has_result "$said" '.cause.code == "OOM_KILLED" and any(.violations[]; .layer == "resources" and .kind == "memory")
        and .peak_memory > 50 * $mib and .peak_memory <= 64 * $mib' --argjson mib $MIB
    [ "$(runner_pid)" = "$before" ] || fail "the runner did not outlive it"
    [ "$(inside --profile vm_small -- 'echo on')" = on ] || fail "no command runs any more"
    # Control.
    said=$(ended "$(airlock start --token-file $TOKEN --profile vm -- "$1")")
    has_result "$said" '.cause.code == "EXITED" and .exit_code == 0 and .peak_memory >= 100 * $mib' --argjson mib $MIB
}

# Checks that every variant of a probe test fails under a low limit on processes, and succeeds under a high
# one.
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
