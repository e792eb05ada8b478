#!/usr/bin/env bash
# Generates `airlockpb` from `proto/`: `generate.sh [--check]`.
#
# It needs Debian 12's protobuf-compiler, protoc-gen-go-1-5 and protoc-gen-go-grpc. Code of newer versions would require
# newer modules of every user. With `--check` it changes nothing, and fails if the committed files differ.
set -euo pipefail
cd "$(dirname "$0")"
. ../../scripts/lib.sh

PACKAGE=airlock.example/airlock/airlockpb
PROTO=../../proto/proto

scratch=$(mktemp -d)
trap 'remove_tree "$scratch"' EXIT

options=paths=source_relative
for file in "$PROTO"/airlock/v1/*.proto; do
    options+=,Mairlock/v1/$(basename "$file")=$PACKAGE
done
protoc -I"$PROTO" --go_out="$options:$scratch" --go-grpc_out="$options:$scratch" "$PROTO"/airlock/v1/*.proto

made=$scratch/airlock/v1
if [ "${1:-}" = --check ]; then
    diff -r "$made" airlockpb >&2 || {
        echo "generate.sh: airlockpb differs from proto/; run clients/go/generate.sh" >&2
        exit 1
    }
else
    rm -f airlockpb/*.pb.go
    cp "$made"/* airlockpb/
fi
