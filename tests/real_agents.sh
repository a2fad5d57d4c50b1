#!/usr/bin/env bash
# Takes a batch through every step with real coding agents, offline: a scripted model on the loopback interface plays
# their provider. Not part of the test suite: it installs some hundred megabytes of agents and takes minutes.
#
#   tests/real_agents.sh --kit DIR [--cache DIR] [--keep] [--case NAME ...] [AGENT ...]
#
#   --kit DIR     holds scripted_model.py (the model) and install.sh (installs the agents, pinned, from the npm registry)
#   --cache DIR   where agents and scratch projects go; default ~/.cache/ratchet-real-agents
#   --keep        leave the scratch projects, with what each step showed, to be looked at
#   --case NAME   only this case of tests/real_agents/run.py
#   AGENT         claude, codex, gemini or opencode; default claude and codex
#
# Needs Rust, git, Node with npm, and python3. RATCHET_BIN_DIR names a folder that holds `ratchet` already built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() { sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2; }

kit=""
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ratchet-real-agents
more=()
agents=()
while [ $# -gt 0 ]; do
    case $1 in
        --kit) kit=${2:?--kit takes a folder}; shift 2 ;;
        --cache) cache=${2:?--cache takes a folder}; shift 2 ;;
        --keep) more+=(--keep); shift ;;
        --case) more+=(--case "${2:?--case takes a name}"); shift 2 ;;
        claude | codex | gemini | opencode) agents+=("$1"); shift ;;
        *) usage ;;
    esac
done
[ -n "$kit" ] || usage
[ ${#agents[@]} -gt 0 ] || agents=(claude codex)
for file in scripted_model.py install.sh; do
    [ -e "$kit/$file" ] || { echo "tests/real_agents.sh: $kit has no $file" >&2; exit 2; }
done

if [ -z "${RATCHET_BIN_DIR:-}" ]; then
    manifest=$here/../Cargo.toml
    cargo build --locked --release --manifest-path "$manifest" -p ratchet --bin ratchet
    target=$(cargo metadata --manifest-path "$manifest" --format-version 1 --no-deps |
        grep -o '"target_directory":"[^"]*"' | cut -d'"' -f4)
    RATCHET_BIN_DIR=$target/release
fi

mkdir -p "$cache"
bash "$kit/install.sh" "$cache" "${agents[@]}"
exec python3 "$here/real_agents/run.py" --kit "$kit" --cache "$cache" --bin "$RATCHET_BIN_DIR" ${more[@]+"${more[@]}"} \
    "${agents[@]}"
