#!/usr/bin/env bash
# Everything that must hold before a change is done, in the order in which it fails fastest.
#
#   tests/run.sh                      all stages but the recorded cases
#   tests/run.sh --conformance DIR    those too: DIR holds run.py and one folder a case
#   tests/run.sh --only STAGE         one stage: fmt, clippy, release, engine, tests, through, doctests, docs,
#                                     deny, conformance, sample, package, backend, nothing_left
#
# Needs Rust, git, bash and python3, and a container engine: one is started if none answers. Installs what else
# is missing: cargo-nextest, cargo-deny and, on Debian-like machines, those of the first list but Rust, and a C linker.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

conformance=""
only=""
while [ $# -gt 0 ]; do
    case $1 in
        --conformance) conformance=${2:?--conformance takes a folder}; shift 2 ;;
        --only) only=${2:?--only takes a stage}; shift 2 ;;
        *) echo "tests/run.sh: unknown argument $1" >&2; exit 2 ;;
    esac
done

export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always}
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
target=${CARGO_TARGET_DIR:-target}
triple=$(rustc -vV | sed -n 's/^host: //p')

has() { command -v "$1" >/dev/null 2>&1; }

install_missing() {
    if ! has cc || ! has git || ! has python3 || ! has openssl || ! has file ||
        ! python3 -c 'import ensurepip' 2>/dev/null; then
        local root=""
        [ "$(id -u)" -eq 0 ] || root=sudo
        $root apt-get update
        DEBIAN_FRONTEND=noninteractive $root apt-get install --yes --no-install-recommends gcc libc6-dev git python3 python3-venv openssl file
    fi
    has cargo-nextest || cargo install --locked cargo-nextest
    has cargo-deny || cargo install --locked cargo-deny --version 0.20.2
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
}

fmt() { cargo fmt --all --check; }
clippy() { cargo clippy --locked --workspace --all-targets -- --deny warnings; }
tests() { cargo nextest run --locked --workspace; }
# The command line once more, each world with a supervisor that its commands find.
through() {
    RATCHET_TEST_THROUGH=supervisor cargo nextest run --locked -p ratchet-tests --test it \
        -E 'not test(/^(chaos|daemon|docker|eval|house_rules|setup|shell|store|supervisor|telemetry|terminal|validate)::/)'
}
doctests() { cargo test --locked --workspace --doc; }
docs() { RUSTDOCFLAGS="--deny warnings" cargo doc --locked --workspace --no-deps; }
deny() { cargo deny --locked check bans licenses sources; }
# What is shipped is static, so that it runs in any image. The flag is for the target alone: build scripts stay as they are.
static_build() {
    env "CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_RUSTFLAGS=-C target-feature=+crt-static" \
        cargo build --locked --release --target "$triple" "$@"
}
# By package, not by workspace: the tests build ratchet with crash points, and a workspace build would share them.
release() { static_build -p ratchet --bin ratchet -p ratchet-runtime-agent --bin runtime-agent; }
engine() {
    local pid=$target/docker/dockerd.pid before=""
    [ ! -f "$pid" ] || before=$(cat "$pid")
    tests/docker/prepare.sh release
    if [ -f "$pid" ] && [ "$(cat "$pid")" != "$before" ]; then
        # Ours, so it ends with us.
        trap 'kill "$(cat "$target/docker/dockerd.pid")"' EXIT
    fi
}
# After everything: no container of ours is left, in whatever state.
nothing_left() {
    local left
    left=$(docker ps --all --filter label=dev.ratchet.spawn --format '{{.Names}} {{.Status}}')
    if [ -n "$left" ]; then
        printf 'left behind:\n%s\n' "$left" >&2
        return 1
    fi
}
conformance() {
    if [ -z "$conformance" ]; then
        echo "no folder of recorded cases given, none run"
        return
    fi
    python3 tests/conformance/check.py --cases "$conformance" --bin "$target/$triple/release/ratchet"
}
sample() {
    static_build -p ratchet-tests --bin sample_agent
    # Built again by package, so that the crash points of the build above are not in it.
    release
    local built
    built=$(cd "$target/$triple/release" && pwd)
    RATCHET_BIN_DIR=$built fixtures/sample/run.sh
    RATCHET_BIN_DIR=$built fixtures/sample/run.sh --worker
    RATCHET_BIN_DIR=$built fixtures/sample/run.sh --image ratchet-test:debian
}

# What is shipped, installed.
package() { tests/package.sh "$target/$triple/release"; }
# A whole step's trace in a real backend; about four minutes when it has to be installed, else one.
backend() { tests/telemetry/backend.sh; }

stage() {
    local started=$SECONDS
    printf '\n=== %s\n' "$1"
    "$1"
    printf '=== %s: %d s\n' "$1" $((SECONDS - started))
}

install_missing
if [ -n "$only" ]; then
    case $only in
        fmt | clippy | release | engine | tests | through | doctests | docs | deny | conformance | sample | package | nothing_left | backend) stage "$only" ;;
        *) echo "tests/run.sh: no stage $only" >&2; exit 2 ;;
    esac
    exit
fi
for name in fmt clippy release engine tests through doctests docs deny conformance sample package backend nothing_left; do
    stage "$name"
done
printf '\nall hold, %d s\n' "$SECONDS"
