set -k; alpha x=1 y
