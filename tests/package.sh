#!/usr/bin/env bash
# Tries what is shipped as whoever installs it would: the tarball and its installer, the Debian package, the image of a
# worker, the manifests of a cluster.
#
#   tests/package.sh BIN_DIR      BIN_DIR holds a static `ratchet` and `runtime-agent`
#
# Needs an engine with the image ratchet-test:debian (tests/docker/prepare.sh makes both), python3 and, for the manifests'
# schemas, a package index for Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(cd "${1:?the folder of the binaries}" && pwd)
work=$(mktemp -d)
image=ratchet-package-test:$$
leave() {
    docker rm --force "$image_container" >/dev/null 2>&1 || true
    docker rmi --force "$image" >/dev/null 2>&1 || true
    rm -rf "$work"
}
image_container=ratchet-package-test-$$
trap leave EXIT

say() { printf -- '-- %s\n' "$*"; }
fail() { echo "tests/package.sh: $*" >&2; exit 1; }

say "two builds make the same bytes"
for run in one two; do RATCHET_BIN_DIR=$bin deploy/package/build.sh "$work/$run" >/dev/null; done
diff "$work/one/SHA256SUMS" "$work/two/SHA256SUMS"
(cd "$work/one" && sha256sum --check --quiet SHA256SUMS)

say "the tarball's installer puts everything below its prefix, and takes it away again"
tar --extract --gzip --directory "$work" --file "$work"/one/*.tar.gz
"$work"/ratchet-*/install.sh --prefix "$work/prefix with a space" >"$work/said"
grep -q 'is in ' "$work/said"
prefix="$work/prefix with a space"
[ "$("$prefix/bin/ratchet" --version)" = "$("$bin/ratchet" --version)" ] || fail "another ratchet is installed"
"$prefix/bin/runtime-agent" --version >/dev/null
[ -s "$prefix/share/man/man1/ratchet-batch-apply.1.gz" ] || fail "a man page is missing"
grep -q "ExecStart=$prefix/bin/ratchet supervisor run" "$prefix/lib/systemd/user/ratchet-supervisor.service" ||
    fail "the unit starts another ratchet"
bash -c 'source "$1"; complete -p ratchet' bash "$prefix/share/bash-completion/completions/ratchet" >/dev/null
"$work"/ratchet-*/install.sh --prefix "$prefix" --uninstall >/dev/null
[ -z "$(find "$prefix" -type f)" ] || fail "left behind: $(find "$prefix" -type f)"

if command -v dpkg-deb >/dev/null; then
    say "the Debian package installs into an empty system and leaves nothing"
    root=$work/root
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
    touch "$root/var/lib/dpkg/status"
    package() { dpkg --root="$root" --force-depends --force-not-root --log=/dev/null "$@" >/dev/null; }
    package --install "$work"/one/*.deb
    "$root/usr/bin/ratchet" --version >/dev/null
    grep -q 'ExecStart=/usr/bin/ratchet ' "$root/usr/lib/systemd/user/ratchet-supervisor.service" ||
        fail "the unit of the package starts another ratchet"
    package --purge ratchet
    [ -z "$(find "$root/usr" -type f 2>/dev/null)" ] || fail "left behind: $(find "$root/usr" -type f)"
fi

say "the image of a worker is built and serves"
mkdir "$work/image"
install "$bin/ratchet" "$bin/runtime-agent" "$work/image"
docker build --quiet --file deploy/worker/Dockerfile --build-arg BASE=ratchet-test:debian --tag "$image" "$work/image" >/dev/null
mkdir "$work/run"
(umask 077 && head -c 32 /dev/urandom | base64 --wrap=0 >"$work/run/token")
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ratchet \
    -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE \
    -keyout "$work/run/tls.key" -out "$work/run/tls.crt" 2>/dev/null
chmod 600 "$work"/run/*
chown -R 1000:1000 "$work/run"
docker run --detach --name "$image_container" --init --network none --volume "$work/run:/run/ratchet:ro" "$image" >/dev/null
# Ends at the first line that says so, or with the container; who follows ends with the container in any case.
grep --quiet --max-count=1 'listening at' < <(docker logs --follow "$image_container" 2>&1) ||
    fail "the worker does not serve: $(docker logs "$image_container" 2>&1)"
docker stop --time 20 "$image_container" >/dev/null
[ "$(docker inspect --format '{{.State.ExitCode}}' "$image_container")" = 0 ] ||
    fail "the worker ended badly: $(docker logs "$image_container" 2>&1)"

say "the manifests of a cluster fit their schemas"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet --disable-pip-version-check install kubernetes-validate==1.37.0
for file in namespace workers network; do
    "$work/venv/bin/kubernetes-validate" --strict "deploy/kubernetes/$file.yaml" >/dev/null
done
echo "what is shipped can be installed"
