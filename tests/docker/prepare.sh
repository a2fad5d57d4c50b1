#!/usr/bin/env bash
# Makes ready what the tests of containers need: an engine that answers, a ratchet that runs in any image, and images that
# come from no registry. Everything it makes lies in the target folder and in the engine; nothing of other people's is
# touched.
#
#   tests/docker/prepare.sh            with a ratchet of the dev profile
#   tests/docker/prepare.sh release    with one of the release profile
#
# On a Debian-like machine it installs what is missing. An engine that it has to start is named in docker/dockerd.pid of
# the target folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

profile=${1:-dev}
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/docker" "$target/debug"
work=$(cd "$target/docker" && pwd)
triple=$(rustc -vV | sed -n 's/^host: //p')
root=""
[ "$(id -u)" -eq 0 ] || root=sudo

has() { command -v "$1" >/dev/null 2>&1; }

install_missing() {
    local missing=()
    has docker && has dockerd || missing+=(docker.io)
    has debootstrap || missing+=(debootstrap)
    [ -x /usr/bin/busybox ] || [ -x /bin/busybox ] || missing+=(busybox-static)
    if [ ${#missing[@]} -gt 0 ]; then
        $root apt-get update
        DEBIAN_FRONTEND=noninteractive $root apt-get install --yes --no-install-recommends "${missing[@]}" iptables
    fi
}

start_engine() {
    if docker version >/dev/null 2>&1; then
        return
    fi
    $root sh -c 'dockerd >"$1/dockerd.log" 2>&1 & echo $! >"$1/dockerd.pid"' sh "$work"
    for _ in $(seq 120); do
        docker version >/dev/null 2>&1 && return
        sleep 0.5
    done
    tail -n 20 "$work/dockerd.log" >&2
    echo "tests/docker/prepare.sh: no engine answers, and none could be started" >&2
    exit 1
}

# A static ratchet beside the tested one, where ratchet looks for it.
static_ratchet() {
    local folder=debug
    [ "$profile" = dev ] || folder=$profile
    env "CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_RUSTFLAGS=-C target-feature=+crt-static" \
        cargo build --locked --profile "$profile" --package ratchet --bin ratchet --target "$triple"
    ln -f "$target/$triple/$folder/ratchet" "$target/debug/ratchet-static"
}

# Names what comes in, and removes what had the name before.
import() {
    local before after
    before=$(docker image inspect --format '{{.Id}}' "ratchet-test:$1" 2>/dev/null || true)
    after=$(docker import --message "tests of ratchet" "${@:2}" - "ratchet-test:$1")
    [ -z "$before" ] || [ "$before" = "$after" ] || docker rmi "$before" >/dev/null 2>&1 || true
}

# Nothing at all: not even a folder.
scratch_image() { tar --create --files-from /dev/null | import scratch; }

busybox_image() {
    local tree=$work/busybox
    rm -rf "$tree"
    mkdir -p "$tree/bin" "$tree/tmp"
    chmod 1777 "$tree/tmp"
    cp "$(command -v busybox)" "$tree/bin/busybox"
    for name in $("$tree/bin/busybox" --list); do
        [ "$name" = busybox ] || ln -sf busybox "$tree/bin/$name"
    done
    rm -f "$tree/bin/bash"
    printf '#!/bin/sh\nexec /bin/sh "$@"\n' >"$tree/bin/bash"
    # An agent that is there and starts, one that does not, and one that is no program of this machine.
    printf '#!/bin/sh\n[ "$1" != --version ] || { echo "1.0 (a script)"; exit 0; }\nexec sh -c "$AGENT_DOES"\n' >"$tree/bin/claude"
    printf '#!/bin/sh\necho "cannot find module x" >&2\nexit 3\n' >"$tree/bin/codex"
    printf '#!/nowhere/node\n' >"$tree/bin/gemini"
    chmod 755 "$tree"/bin/bash "$tree"/bin/claude "$tree"/bin/codex "$tree"/bin/gemini
    tar --create --directory "$tree" --owner 0 --group 0 . | import busybox
    tar --create --directory "$tree" --owner 0 --group 0 --exclude ./bin/bash . | import no-bash
}

debian_image() {
    local tar=$work/debian.tar
    if [ ! -s "$tar" ]; then
        local tree
        tree=$(mktemp --directory)
        # In a mount namespace of its own, so that nothing stays mounted.
        $root unshare --mount debootstrap --variant=minbase --include=git,ca-certificates bookworm "$tree" >"$work/debootstrap.log" ||
            { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
        $root rm -rf "$tree"/var/cache/apt/archives/*.deb "$tree"/var/lib/apt/lists/*
        $root tar --create --directory "$tree" --exclude './proc/*' --exclude './sys/*' --exclude './dev/*' . >"$tar.new"
        $root rm -rf "$tree"
        mv "$tar.new" "$tar"
    fi
    import debian --change 'EXPOSE 8080' --change 'VOLUME /data' --change 'ENV FROM_THE_IMAGE=yes' <"$tar"
}

install_missing
start_engine
static_ratchet
scratch_image
busybox_image
has_debian() { [ -s "$work/debian.tar" ] && docker image inspect ratchet-test:debian >/dev/null 2>&1; }
has_debian || debian_image
