# Shared by the scripts: where tools are kept, which versions, and how to speak.

tools="${XDG_CACHE_HOME:-$HOME/.cache}/airlock/tools"
export PATH="$PATH:$tools/bin"

NEXTEST_VERSION=0.9.143
CARGO_DENY_VERSION=0.20.2
BUF='buf-bin==1.75.0 --hash=sha256:6fd3ecb1694b6f5bcdfb9bef5297b330ffb9731b95445a42944c1b6158428101'
# A gRPC client that nobody here wrote, and a project with its own test suite, for the whole-system tests.
GRPC_PYTHON='grpcio==1.85.1 --hash=sha256:83aced2a1c05648cee0de34e531351118b14c58238f0a61b43559ac8851647a8
grpcio-reflection==1.85.1 --hash=sha256:476f98ec652a5d69f837781ef44c9ff65ebc116e58a6c1dc7712526ac071262a
protobuf==7.36.2 --hash=sha256:89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2
typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8'
IDNA='idna==3.20 --hash=sha256:a7db850025b95ded1eae8a46181a1a6c56c92c96f0e2b005d9ff8dc0210cab44'
# The same, as it is installed; and a package of npm's registry: name, version, hash.
IDNA_WHEEL='idna==3.20 --hash=sha256:ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c'
IS_NUMBER='is-number 7.0.0 sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=='
ROTEL='rotel==0.0.1a15 --hash=sha256:2f4117e58410c933e0dc042a268ef738dab2e3a5d63b5831209acdac2a6ddcb7'

say() { printf '%s\n' "airlock: $*" >&2; }

die() { # WHAT CURE
    printf 'airlock: %s\n  %s\n' "$1" "$2" >&2
    exit 1
}
