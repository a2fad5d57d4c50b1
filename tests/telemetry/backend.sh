#!/usr/bin/env bash
# A whole step's trace in a real backend: Arize Phoenix, installed from PyPI into the target folder, takes what a command
# and a supervisor tell, and is asked for it by its own interface.
#
#   tests/telemetry/backend.sh                  with the ratchet of the release stage
#   RATCHET_BIN=… tests/telemetry/backend.sh    with another one
#   tests/telemetry/backend.sh --picture FILE   also takes a picture of the trace; needs chromium
#
# Needs python3 with venv, git, and PyPI the first time (about 850 MB, two minutes). A run takes about half a minute.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=20.26.1
target=${CARGO_TARGET_DIR:-target}
triple=$(rustc -vV | sed -n 's/^host: //p')
venv=$target/phoenix/venv

if [ ! -x "$venv/bin/phoenix" ]; then
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        root=""
        [ "$(id -u)" -eq 0 ] || root=sudo
        $root apt-get update
        DEBIAN_FRONTEND=noninteractive $root apt-get install --yes --no-install-recommends python3-venv
    fi
    mkdir -p "$target/phoenix"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "arize-phoenix==$version"
fi
exec "$venv/bin/python" tests/telemetry/backend.py \
    --phoenix "$venv/bin/phoenix" \
    --ratchet "${RATCHET_BIN:-$target/$triple/release/ratchet}" "$@"
