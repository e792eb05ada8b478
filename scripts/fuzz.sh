#!/usr/bin/env bash
# Runs coverage-guided fuzzing of the policy and of the runner's proxy for SECONDS on every core, with C code
# under AddressSanitizer. The targets share the time; those of the network share a quarter of it equally. If targets are
# named, each of them runs for SECONDS. The corpus is kept in the user's cache; findings are minimised there and their
# names printed. Usage: scripts/fuzz.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

seconds=$1
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || die "\`$seconds\` is not a number of seconds" "for example: make fuzz SECONDS=600"
named=("${@:2}")
all=(decide rules powershell profile import network names http socks)
for target in "${named[@]}"; do
    [[ " ${all[*]} " = *" $target "* ]] || die "\`$target\` is no target" "name some of: ${all[*]}"
done
home="${XDG_CACHE_HOME:-$HOME/.cache}/airlock/fuzz"
build="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
host=$(rustc -vV | sed -n 's/^host: //p')
targets="$build/$host/release"
cores=$(nproc)
# One answer may take one second of instrumented time and 64 MiB; the targets check both. These limits
# also cover code that never returns and allocations of the C code.
limits=(-timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=64 -max_len=12000)
export ASAN_OPTIONS="quarantine_size_mb=32:${ASAN_OPTIONS:-}"

# Instruments Rust as cargo-fuzz does, with the options of a stable compiler. The environment names the
# target only, so that build scripts are built normally.
build_targets() {
    local under="${host//-/_}" flags="-Cpasses=sancov-module -Ccodegen-units=1"
    for pass in level=4 inline-8bit-counters pc-table trace-compares; do
        flags+=" -Cllvm-args=-sanitizer-coverage-$pass"
    done
    env "CC_$under=clang" "CXX_$under=clang++" "CFLAGS_$under=-fsanitize=address,fuzzer-no-link -g1" \
        RUSTFLAGS="$flags -Clinker=clang -Clink-arg=-fsanitize=address" \
        cargo build --quiet --release --manifest-path fuzz/targets/Cargo.toml \
        --target "$host" --target-dir "$build" || die "the fuzz targets do not build" "see what cargo says above"
}

# Checks the fuzzer itself: it must detect each control except the harmless one.
try_controls() {
    local control mark patience
    while IFS='|' read -r control mark; do
        printf '%s' "$control" >"$work/control"
        [ "$control" = hang ] && patience=2 || patience=60
        if "$targets/controls" -timeout="$patience" -rss_limit_mb=1024 -artifact_prefix="$work/" "$work/control" \
            >"$work/control.log" 2>&1; then
            [ "$control" = harmless ] || die "the control \`$control\` was not caught" "the fuzzer is broken"
        elif [ "$control" = harmless ] || ! grep -q "$mark" "$work/control.log"; then
            cat "$work/control.log" >&2
            die "the control \`$control\` was caught as something else" "the fuzzer is broken"
        fi
    done <<'CONTROLS'
harmless|
overflow|heap-buffer-overflow
panic|panicked
caught panic|panicked
slow|one decision took
hang|libFuzzer: timeout
memory|one decision used
CONTROLS
}

# Writes the tokens of the language: the strings in the code of the parser and in the tables.
write_dictionary() {
    find policy/src/parse policy/powershell/src policy/tables -name '*.rs' -o -name '*.toml' | sort | xargs grep -hoE '"[][A-Za-z0-9<>&|;(){}$`*?!:=,./@~^%+#_ -]{1,14}"' |
        grep -vE '"[a-z]+_[a-z_]+"|[a-z] [a-z]' | sort -u >"$work/dictionary"
    printf '%s\n' '"CONNECT "' '" HTTP/1.1\x0d\x0a"' '"\x0d\x0a\x0d\x0a"' '"Proxy-Authorization: Basic AUTH\x0d\x0a"' \
        '"Transfer-Encoding: chunked\x0d\x0a"' '"Content-Length: "' '"Host: "' '"web.test:PORT"' '"Connection: "' \
        '"\x05TOKEN"' '"\xfe\xfe"' '"0x7f"' '"::ffff:"' '"64:ff9b::"' '"xn--"' >>"$work/dictionary"
    printf '%s\n' '"\x0a"' '"\x0d"' '"\x5c\x0a"' '"\x22"' '"'"'"'"' '"\xc2\xa0"' '"<<E\x0a"' '"\x0aE\x0a"' \
        >>"$work/dictionary"
}

# Writes the seeds: the test data and configurations of the project.
write_seeds() {
    local file
    mkdir -p "$work/seeds/"{decide,rules,powershell,profile,import,network,names,http,socks}
    python3 - "$work/seeds/decide" <<'PYTHON'
import pathlib, sys, tomllib

for table in pathlib.Path("policy/test_data").rglob("*.toml"):
    for kind, rows in tomllib.loads(table.read_text()).items():
        for row in rows if isinstance(rows, list) else []:
            if len(command := row.get("command", "")) < 12_000 and "number" in row:
                name = f"{table.parent.name}_{table.stem}_{kind}_{row['number']}"
                pathlib.Path(sys.argv[1], name).write_bytes(command.encode())
PYTHON
    for file in "$work"/seeds/decide/*; do
        { printf 'Bash(%s:*)\n' "$(tr -cs 'a-z0-9_-' '\n' <"$file" | grep -m1 . || echo ls)" && cat "$file"; } \
            >"$work/seeds/rules/${file##*/}"
    done
    grep -rlE --include='*.toml' '^\[policy' docs deploy policy/test_data 2>/dev/null | while IFS= read -r file; do
        cp "$file" "$work/seeds/profile/$(tr / _ <<<"$file")"
    done
    printf '{"permissions": {"allow": ["Bash(npm run test:*)", "Read(~/x/**)"], "deny": ["Bash(rm:*)"]}}' \
        >"$work/seeds/import/permissions"
    printf 'github-ssh\n*.example.com:22/tcp\nssh.github.com:443' >"$work/seeds/network/names"
    printf '[2001:db8::/32]:8080\n10.1.0.0/16:5432/tcp\n[64:ff9b::0177.0x1]:8080' >"$work/seeds/network/addresses"
    printf 'bücher.example\nxn--bcher-kva.example:80\nBÜCHER。example:80' >"$work/seeds/network/international"
    write_powershell_seeds
    write_network_seeds
}

# Writes the PowerShell texts of the tests as seeds.
write_powershell_seeds() {
    python3 - "$work/seeds/powershell" <<'PYTHON'
import pathlib, sys, tomllib

classes = tomllib.loads(pathlib.Path("policy/test_data/powershell.toml").read_text())["class"]
for number, entry in enumerate(classes):
    for kind in ("attacks", "lookalikes"):
        for at, text in enumerate(entry[kind]):
            pathlib.Path(sys.argv[1], f"{number}_{kind}_{at}").write_bytes(text.encode())
PYTHON
}

# Writes the attempts of the tests of the proxy as seeds: hosts, and messages of HTTP and SOCKS. The target
# replaces AUTH, TOKEN and PORT.
write_network_seeds() {
    python3 - "$work/seeds" <<'PYTHON'
import pathlib, re, sys

seeds = pathlib.Path(sys.argv[1])

def write(target, texts):
    for number, text in enumerate(sorted(set(texts))):
        seeds.joinpath(target, f"test_{number}").write_bytes(text)

def literals(path):
    """Returns the string literals of a Rust file."""
    escapes = {"r": "\r", "n": "\n", "t": "\t", "0": "\0", '"': '"', "\\": "\\"}
    for raw in re.findall(r'"((?:[^"\\]|\\.)*)"', pathlib.Path(path).read_text(), re.S):
        text = re.sub(r"\\\n\s*", "", raw)
        text = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text)
        yield re.sub(r'\\([rnt0"\\])', lambda match: escapes[match[1]], text)

tests = pathlib.Path("runner/tests/network")
credential = "Proxy-Authorization: Basic AUTH\r\n"
hosts = [*literals(tests / "addresses.rs"), *literals(tests / "names.rs"), *literals("policy/network/src/host/tests.rs")]
write("names", [host.encode() for host in hosts if 0 < len(host) < 100 and " " not in host.strip()])
http = []
for name in ["requests.rs", "smuggling.rs", "addresses.rs"]:
    for text in literals(tests / name):
        whole = text if re.match(r"[A-Z]+ .* HTTP/", text) else f"POST http://web.test/ HTTP/1.1\r\n{text}"
        if "\r\n" in text:
            whole = whole.replace("{auth}", "").replace("web.test:80 ", "web.test ").replace("web.test", "web.test:PORT")
            head, line_end, rest = whole.partition("\r\n")
            http.append(f"{head}{line_end}{credential}{rest}\r\n0\r\n\r\nGET http://web.test:PORT/ HTTP/1.1\r\n{credential}\r\n".encode("latin-1", "replace"))
for target in ["web.test:PORT", "evil.test:PORT", "127.0.0.9:PORT", "[::ffff:127.0.0.9]:PORT", "2130706441:PORT"]:
    http.append(f"CONNECT {target} HTTP/1.1\r\n{credential}\r\nhello".encode())
    http.append(f"GET http://{target}/ HTTP/1.1\r\n{credential}Connection: close\r\n\r\n".encode())
write("http", http)
name = lambda text: bytes([5, 1, 0, 3, len(text)]) + text + b"\xfe\xfe"
write("socks", [
    name(b"web.test") + b"hello", name(b"evil.test"), name(b"web.test\0"), name(b"127.0.0.9"), name(b"0x7f000009"),
    b"\x05\x01\x00\x01\x7f\x00\x00\x01\xfe\xfeping", b"\x05\x01\x00\x01\x7f\x00\x00\x09\xfe\xfe",
    b"\x05\x01\x00\x04" + b"\0" * 10 + b"\xff\xff\x7f\x00\x00\x09\xfe\xfe",
    b"\x05\x02" + name(b"web.test")[2:], b"\x05\x03" + name(b"web.test")[2:],
    b"\x00\x01\x00" + name(b"web.test"), b"\x00\x01\x02" + name(b"web.test"),
    b"\x00\x01\x02\x01\x07airlock\x05TOKEN" + name(b"web.test"),
])
PYTHON
}

# Fuzzes one target on every core. Records its figures and prints the findings.
fuzz() { # TARGET SECONDS
    local target=$1 budget=$2 worker pids=() corpus="$home/$1/corpus" found="$home/$1/findings"
    mkdir -p "$corpus" "$found"
    say "fuzzing $target for $budget s on $cores cores"
    for ((worker = 0; worker < cores; worker++)); do
        "$targets/$target" "${limits[@]}" -max_total_time="$budget" -print_final_stats=1 \
            -dict="$work/dictionary" -artifact_prefix="$found/" "$corpus" "$work/seeds/$target" \
            >"$work/$target.$worker.log" 2>&1 &
        pids+=($!)
    done
    for worker in "${!pids[@]}"; do
        wait "${pids[$worker]}" || report "$target" "$work/$target.$worker.log" "$found"
    done
    figures "$target"
}

figures() { # TARGET
    local executed first last inputs
    executed=$(awk '/number_of_executed_units/ { sum += $2 } END { print sum + 0 }' "$work/$1".*.log)
    first=$(grep -hoE 'INITED +cov: [0-9]+' "$work/$1".*.log | awk '{ print $3 }' | sort -n | head -n1)
    last=$(grep -hoE 'cov: [0-9]+' "$work/$1".*.log | awk '{ print $2 }' | sort -n | tail -n1)
    inputs=$(find "$home/$1/corpus" -type f | wc -l)
    total=$((total + executed))
    line+="; $1 covers ${last:-0} edges (${first:-0} at first, $inputs inputs)"
}

# Prints a finding: its error message, and the shortest input that reproduces it.
report() { # TARGET LOG FOLDER
    local artifact small
    artifact=$(grep -oE 'Test unit written to .*' "$2" | tail -n1 | sed 's/Test unit written to //') || true
    findings=$((findings + 1))
    grep -E -A4 'panicked at|ERROR: |SUMMARY: ' "$2" | head -n 20 >&2 || tail -n 20 "$2" >&2
    [ -n "$artifact" ] || { say "finding in $1, without an input: see above"; return; }
    small="$3/minimised-$(basename "$artifact")"
    "$targets/$1" "${limits[@]}" -minimize_crash=1 -max_total_time=60 -exact_artifact_path="$small" "$artifact" \
        >"$work/minimise.log" 2>&1 || true
    [ -s "$small" ] || cp "$artifact" "$small"
    say "finding in $1: $small"
    say "  $(head -c 300 "$small" | cat -v | tr '\n' '~')"
    say "  again: $targets/$1 $small"
}

work=$(mktemp -d)
trap 'remove_tree "$work"' EXIT
findings=0 total=0 line=""
say "building the fuzz targets"
build_targets
try_controls
say "the controls were caught: overflow in C, panic, caught panic, slow answer, hang, memory"
write_dictionary
write_seeds
began=$(date +%s)
if [ "${#named[@]}" -gt 0 ]; then
    for target in "${named[@]}"; do
        fuzz "$target" "$seconds"
    done
else
    fuzz decide $((seconds * 7 / 20 + 1))
    fuzz powershell $((seconds / 10 + 1))
    fuzz rules $((seconds * 3 / 20 + 1))
    fuzz profile $((seconds / 10 + 1))
    fuzz import $((seconds / 20 + 1))
    for target in network names http socks; do
        fuzz "$target" $((seconds / 16 + 1))
    done
fi
say "fuzz: $total executions in $(($(date +%s) - began)) s$line; findings: $findings"
[ "$findings" -eq 0 ]
