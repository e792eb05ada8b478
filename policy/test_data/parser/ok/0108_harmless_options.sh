set -euo pipefail; shopt -s nullglob globstar; set -- a; alpha
