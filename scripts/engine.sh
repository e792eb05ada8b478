#!/usr/bin/env bash
# An engine that the tests of one run share: `scripts/engine.sh postgres|s3 PID` starts it unless it is there, and
# prints its folder. It is ended, and the folder removed, when the process PID (what runs the tests) has ended,
# however that went. In the folder: `port`, and what is said below.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
umask 022

kind=$1 owner=$2
# With the time of its start, so that another process with its number is not taken for it.
started() { sed 's/.*) //' "/proc/$owner/stat" 2>/dev/null | cut -d' ' -f20; }
since=$(started)
[ -n "$since" ] || die "there is no process $owner" "name one that lives as long as the tests"
home=${TMPDIR:-/tmp}/airlock-$kind.$owner.$since

# Of PostgreSQL, which cannot be asked to choose one: apart from the range of tests/src/port.rs, and tried until one is free.
a_port() { echo $((12000 + RANDOM % 5000)); }
# How long is waited for what starts, in seconds: the first test of a run starts it, beside others.
export PGCTLTIMEOUT=240

# PostgreSQL. `run` holds its socket, on which everybody is the superuser `airlock`; over TCP there is only TLS,
# with passwords; `ca.pem` signed its certificate, which is for localhost and the switch of tests whose hosts are namespaces
# (tests/src/fleet/network.rs).
start_postgres() {
    local bin port as=()
    bin=$({ find /usr/lib/postgresql/*/bin -maxdepth 0 2>/dev/null || true; } | sort -V | tail -1)
    [ -x "$bin/postgres" ] || die "there is no PostgreSQL here" "run scripts/setup.sh test"
    remove_tree run
    mkdir run
    # It refuses to run as root. Its shared memory is no object of the host's, which tests of the sandbox look at.
    if [ "$(id -u)" -eq 0 ]; then
        local user
        user=$(id -u postgres >/dev/null 2>&1 && echo postgres || echo nobody)
        as=(unshare --ipc setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups --)
        chown "$user" run
    fi
    run() { "${as[@]}" env LC_ALL=C.UTF-8 "$@" 9>&-; }
    # Not ordered by bytes, as many a database out there is not.
    run "$bin/initdb" --pgdata run/data --username airlock --auth trust --encoding UTF8 --no-sync \
        --locale-provider icu --icu-locale en-US --locale C.UTF-8
    local ec=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
    openssl req -x509 "${ec[@]}" -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
    run openssl req "${ec[@]}" -subj /CN=localhost -keyout run/server.key -out run/server.csr
    printf 'subjectAltName=DNS:localhost,IP:192.0.2.1' >names
    openssl x509 -req -in run/server.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out server.pem
    printf '%s\n' 'local all all trust' 'hostssl all all 127.0.0.1/32 scram-sha-256' |
        run tee run/data/pg_hba.conf
    # Nothing here needs to outlive the machine. There is room for the connections of all tests that run at once.
    printf '%s\n' 'fsync = off' 'full_page_writes = off' 'max_connections = 1000' 'shared_buffers = 32MB' \
        "unix_socket_directories = '$home/run'" "listen_addresses = '127.0.0.1'" \
        'ssl = on' "ssl_cert_file = '$home/server.pem'" "ssl_key_file = '$home/run/server.key'" |
        run tee -a run/data/postgresql.conf
    for _ in 1 2 3 4 5 6 7 8; do
        port=$(a_port)
        if run "$bin/pg_ctl" --pgdata run/data --log run/log --wait --options "-p $port" start; then
            head -1 run/data/postmaster.pid >pid
            echo "$port" >port
            return
        fi
    done
    cat run/log
    return 1
}

# S3, by moto, in memory: plain HTTP, any credentials.
start_s3() {
    [ -d "$tools/moto" ] || die "there is no moto here" "run scripts/setup.sh test"
    local port pid
    PYTHONPATH="$tools/moto" PYTHONDONTWRITEBYTECODE=1 setsid /usr/bin/python3 -m moto.server \
        --host 127.0.0.1 --port 0 </dev/null >log 2>&1 9>&- &
    pid=$!
    # Python takes its time to read all of it. It says which port it was given.
    for _ in $(seq $((PGCTLTIMEOUT * 10))); do
        kill -0 "$pid" 2>/dev/null || break
        port=$(sed -n 's|.* Running on http://127.0.0.1:\([0-9]*\).*|\1|p' log)
        if [ -n "$port" ] && curl --silent --fail --output /dev/null "http://127.0.0.1:$port/moto-api/data.json"; then
            echo "$pid" >pid
            echo "$port" >port
            return
        fi
        sleep 0.1
    done
    kill "$pid" 2>/dev/null || true
    cat log
    return 1
}

end_with_owner() {
    # In a session of its own: who interrupts the tests does not interrupt this.
    export -f started remove_tree die
    export owner since home
    setsid bash -c '
        pid=$(cat pid)
        while [ "$(started)" = "$since" ]; do sleep 1; done
        kill -INT "$pid" 2>/dev/null
        while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
        remove_tree "${home:?}"
    ' </dev/null >/dev/null 2>&1 9>&- &
    disown -a
}

case "$kind" in postgres | s3) ;; *) die "unknown engine \`$kind\`" "use postgres or s3" ;; esac
mkdir -m 0755 "$home" 2>/dev/null || true
[ -O "$home" ] || die "\`$home\` is not this user's" "remove it"
cd "$home"
exec 9>lock
flock 9
if [ ! -e port ]; then
    ("start_$kind") >setup.log 2>&1 || { cat setup.log >&2; exit 1; }
    end_with_owner
fi
echo "$home"
