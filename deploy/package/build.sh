#!/usr/bin/env bash
# Makes what is shipped from static binaries: a tarball with its installer, a Debian package, and their checksums. Two runs
# over the same binaries make the same bytes.
#
#   deploy/package/build.sh [OUT]      builds the binaries (profile dist), and writes to OUT (default: target/package)
#
# RATCHET_BIN_DIR names a folder with `ratchet` and `runtime-agent` already built; they must be static. SOURCE_DATE_EPOCH is
# the time that all files get; that of the last commit if it is not set.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
cd "$repository"

target=${CARGO_TARGET_DIR:-target}
out=${1:-$target/package}
triple=$(rustc -vV | sed -n 's/^host: //p')
programs=(ratchet runtime-agent)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

if [ -z "${RATCHET_BIN_DIR:-}" ]; then
    env "CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_RUSTFLAGS=-C target-feature=+crt-static" \
        cargo build --locked --profile dist --target "$triple" -p ratchet -p ratchet-runtime-agent --bins
    RATCHET_BIN_DIR=$target/$triple/dist
fi
for program in "${programs[@]}"; do
    if ! file --brief "$RATCHET_BIN_DIR/$program" | grep -q 'static'; then
        echo "build.sh: $RATCHET_BIN_DIR/$program is not static, so it would not run everywhere" >&2
        exit 1
    fi
done
version=$("$RATCHET_BIN_DIR/ratchet" --version | cut -d' ' -f2)

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Everything below a prefix, as both packages have it.
tree() {
    local prefix=$1 documents=$1/share/doc/ratchet
    install -d "$prefix/share/man/man1" "$documents"
    for program in "${programs[@]}"; do
        install -D --mode=755 "$RATCHET_BIN_DIR/$program" "$prefix/bin/$program"
        "$RATCHET_BIN_DIR/$program" man "$prefix/share/man/man1"
        completions "$program" bash "$prefix/share/bash-completion/completions/$program"
        completions "$program" zsh "$prefix/share/zsh/site-functions/_$program"
        completions "$program" fish "$prefix/share/fish/vendor_completions.d/$program.fish"
    done
    gzip --best --no-name "$prefix"/share/man/man1/*
    install -D --mode=644 -t "$prefix/lib/systemd/user" deploy/systemd/*.service deploy/systemd/*.socket
    install --mode=644 LICENSE README.md "$documents"
}

completions() {
    install -d "$(dirname "$3")"
    "$RATCHET_BIN_DIR/$1" completions "$2" >"$3"
}

# The units name where the binary is.
settle() { sed -i "s|%h/\.local/bin/|$2/|" "$1"/lib/systemd/user/*.service; }

tarball() {
    local name=ratchet-$version-$triple
    tree "$work/$name"
    install --mode=755 deploy/package/install.sh "$work/$name/install.sh"
    tar --create --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name" |
        gzip --best --no-name >"$out/$name.tar.gz"
    echo "$name.tar.gz"
}

debian() {
    local architecture root=$work/debian
    architecture=$(dpkg --print-architecture)
    tree "$root/usr"
    settle "$root/usr" /usr/bin
    install -d "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: ratchet
Version: $version
Architecture: $architecture
Maintainer: The ratchet developers <ratchet@localhost>
Installed-Size: $(du --summarize --apparent-size --block-size=1024 "$root/usr" | cut -f1)
Recommends: git, bash
Section: devel
Priority: optional
Description: drives coding agents through a project's work, one forced step at a time
 A batch of changes is taken through propose, apply and verify by the coding
 agent of your choice; each step is held against the files, journaled and can
 be resumed; each phase ends in a command that must prove it.
 .
 With it comes runtime-agent, for hosts on which agents are to run.
CONTROL
    (cd "$root" && find usr -type f -print0 | sort --zero-terminated | xargs --null md5sum >DEBIAN/md5sums)
    chmod 644 "$root/DEBIAN"/*
    find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build "$root" "$out/ratchet_${version}_$architecture.deb" >/dev/null
    echo "ratchet_${version}_$architecture.deb"
}

made=$(umask 022 && tarball)
if command -v dpkg-deb >/dev/null; then
    made="$made $(umask 022 && debian)"
fi
# shellcheck disable=SC2086 # names of ours, without spaces
(cd "$out" && sha256sum $made >SHA256SUMS)
for name in $made; do echo "$out/$name"; done
