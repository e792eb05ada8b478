#!/usr/bin/env bash
# Runs an engine that the tests of one run share. `scripts/engine.sh postgres|s3 PID` starts the engine if it does not
# run yet, and prints its directory. When process PID, which runs the tests, has ended for any reason, the engine is
# stopped and the directory removed. The directory contains `port` and the files described below.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
umask 022

kind=$1 owner=$2
# The start time of the process, which distinguishes it from a later process with the same number.
started() { sed 's/.*) //' "/proc/$owner/stat" 2>/dev/null | cut -d' ' -f20; }
since=$(started)
[ -n "$since" ] || die "there is no process $owner" "name one that lives as long as the tests"
home=${TMPDIR:-/tmp}/airlock-$kind.$owner.$since

# A port for PostgreSQL, which cannot choose a free port. It is outside the range of tests/src/port.rs; several are
# tried.
a_port() { echo $((12000 + RANDOM % 5000)); }
# The timeout for starting an engine, in seconds. The first test of a run starts it while others run.
export PGCTLTIMEOUT=240

# PostgreSQL. `run` contains its socket, on which every user is the superuser `airlock`. Over TCP, TLS and passwords are
# required. `psql` is its client. `ca.pem` signed its certificate, which is valid for localhost and for the switch of
# tests with network namespaces as hosts (tests/src/fleet/network.rs).
start_postgres() {
    local bin port as=()
    bin=$({ find /usr/lib/postgresql/*/bin -maxdepth 0 2>/dev/null || true; } | sort -V | tail -1)
    [ -x "$bin/postgres" ] || die "there is no PostgreSQL here" "run scripts/setup.sh test"
    remove_tree run
    mkdir run
    # PostgreSQL refuses to run as root. It gets its own IPC namespace, because tests of the sandbox inspect the host's
    # shared memory. Its data is in memory: on a disk, each new database of a test takes eight times the processor time.
    if [ "$(id -u)" -eq 0 ]; then
        local user
        user=$(id -u postgres >/dev/null 2>&1 && echo postgres || echo nobody)
        as=(unshare --ipc setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups --)
        chown "$user" run
        mkdir run/data
        mount -t tmpfs -o "mode=0700,uid=$(id -u "$user"),gid=$(id -g "$user")" tmpfs run/data
    fi
    run() { "${as[@]}" env LC_ALL=C.UTF-8 "$@" 9>&-; }
    # The order is by locale and not by bytes, as in many production databases.
    run "$bin/initdb" --pgdata run/data --username airlock --auth trust --encoding UTF8 --no-sync \
        --locale-provider icu --icu-locale en-US --locale C.UTF-8
    local ec=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
    openssl req -x509 "${ec[@]}" -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
    run openssl req "${ec[@]}" -subj /CN=localhost -keyout run/server.key -out run/server.csr
    printf 'subjectAltName=DNS:localhost,IP:192.0.2.1' >names
    openssl x509 -req -in run/server.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out server.pem
    printf '%s\n' 'local all all trust' 'hostssl all all 127.0.0.1/32 scram-sha-256' |
        run tee run/data/pg_hba.conf
    # The data need not survive a crash. The limit allows the connections of all tests that run at the same time.
    printf '%s\n' 'fsync = off' 'full_page_writes = off' 'max_connections = 1000' 'shared_buffers = 32MB' \
        "unix_socket_directories = '$home/run'" "listen_addresses = '127.0.0.1'" \
        'ssl = on' "ssl_cert_file = '$home/server.pem'" "ssl_key_file = '$home/run/server.key'" |
        run tee -a run/data/postgresql.conf
    for _ in 1 2 3 4 5 6 7 8; do
        port=$(a_port)
        if run "$bin/pg_ctl" --pgdata run/data --log run/log --wait --options "-p $port" start; then
            head -1 run/data/postmaster.pid >pid
            # Debian's `psql` in PATH is a Perl script that selects a version, and takes longer than a statement.
            ln -s "$bin/psql" psql
            echo "$port" >port
            return
        fi
    done
    cat run/log
    return 1
}

# S3, emulated by moto in memory: plain HTTP, any credentials.
start_s3() {
    [ -d "$tools/moto" ] || die "there is no moto here" "run scripts/setup.sh test"
    local port pid
    PYTHONPATH="$tools/moto" PYTHONDONTWRITEBYTECODE=1 setsid /usr/bin/python3 -m moto.server \
        --host 127.0.0.1 --port 0 </dev/null >log 2>&1 9>&- &
    pid=$!
    # Python takes some time to load moto. Its log states the port that it got.
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

# Starts the engine. PostgreSQL gets its own mount namespace for its data.
start_apart() {
    if [ "$kind" = postgres ] && [ "$(id -u)" -eq 0 ]; then
        export -f start_postgres a_port remove_tree die
        export home
        in_own_mounts bash -euo pipefail -c start_postgres
    else
        ("start_$kind")
    fi
}

end_with_owner() {
    # A separate session, so that an interrupt of the tests does not end this process.
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
    start_apart >setup.log 2>&1 || { cat setup.log >&2; exit 1; }
    end_with_owner
fi
echo "$home"
