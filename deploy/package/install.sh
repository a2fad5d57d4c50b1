#!/bin/sh
# Installs ratchet from the unpacked tarball that this file lies in.
#
#   ./install.sh                   for everybody (/usr/local) if run by root, else for you (~/.local)
#   ./install.sh --prefix DIR      below DIR
#   ./install.sh --uninstall       removes what it has installed there, and nothing else
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) prefix=${2:?--prefix takes a folder}; shift 2 ;;
        --uninstall) uninstall=yes; shift ;;
        *) echo "install.sh: unknown argument $1; see the top of this file" >&2; exit 2 ;;
    esac
done
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac

# Units of a user's own are looked for in share, those of the system in lib.
units=lib/systemd/user
[ "$prefix" != "${HOME:-}/.local" ] || units=share/systemd/user
place_of() {
    case $1 in
        lib/systemd/user/*) echo "$prefix/$units/${1##*/}" ;;
        *) echo "$prefix/$1" ;;
    esac
}

cd "$here"
files=$(find bin lib share -type f)
if [ "$uninstall" = yes ]; then
    for file in $files; do rm -f "$(place_of "$file")"; done
    echo "ratchet is no longer in $prefix. What it knows is still in ~/.config/ratchet and ~/.local/state/ratchet."
    exit
fi
for file in $files; do
    place=$(place_of "$file")
    mkdir -p "$(dirname "$place")"
    # Beside and renamed: a program that runs is not written to, and is there or not.
    case $file in
        lib/systemd/*) sed "s|%h/\.local/bin/|$prefix/bin/|" "$file" >"$place.new" ;;
        *) cp -p "$file" "$place.new" ;;
    esac
    mv -f "$place.new" "$place"
done

"$prefix/bin/ratchet" --version
echo "is in $prefix/bin."
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "That is not on your PATH yet: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "Next: 'ratchet init' in a project, or 'ratchet help topics start'."
