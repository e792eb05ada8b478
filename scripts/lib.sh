# Shared by the scripts: where tools are kept, which versions, and how to speak.

tools="${XDG_CACHE_HOME:-$HOME/.cache}/airlock/tools"
export PATH="$PATH:$tools/bin"

NEXTEST_VERSION=0.9.143
CARGO_DENY_VERSION=0.20.2
BUF='buf-bin==1.75.0 --hash=sha256:6fd3ecb1694b6f5bcdfb9bef5297b330ffb9731b95445a42944c1b6158428101'
ROTEL='rotel==0.0.1a15 --hash=sha256:2f4117e58410c933e0dc042a268ef738dab2e3a5d63b5831209acdac2a6ddcb7'

say() { printf '%s\n' "airlock: $*" >&2; }

die() { # WHAT CURE
    printf 'airlock: %s\n  %s\n' "$1" "$2" >&2
    exit 1
}
