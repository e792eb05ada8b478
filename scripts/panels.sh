#!/usr/bin/env bash
# Draws the panels of deploy/grafana from a real fleet under load, into docs/panels. SECONDS_OF_WORK is the duration
# of the load.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

work=$(mktemp -d)
prometheus=
trap 'if [ -n "$prometheus" ]; then kill "$prometheus"; wait "$prometheus" || true; fi; remove_tree "$work"' EXIT

say "building"
cargo build --quiet --locked --workspace --bins
target=$(cargo metadata --format-version 1 --no-deps --offline | jq -r .target_directory)
say "a fleet works for ${SECONDS_OF_WORK:-240} seconds"
"$target/debug/panels" --seconds "${SECONDS_OF_WORK:-240}" "$work/metrics"

"$tools/bin/promtool" tsdb create-blocks-from openmetrics "$work/metrics" "$work/tsdb" >"$work/blocks.log" ||
    die "promtool does not take what was measured: $(tail -3 "$work/blocks.log")"
printf 'global: {}\n' >"$work/prometheus.yaml"
port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$tools/bin/prometheus" --config.file="$work/prometheus.yaml" --storage.tsdb.path="$work/tsdb" \
    --storage.tsdb.retention.time=100y --web.listen-address="127.0.0.1:$port" >"$work/prometheus.log" 2>&1 &
prometheus=$!
say "drawing"
/usr/bin/python3 scripts/panels.py "http://127.0.0.1:$port" "$work/metrics" docs/panels
