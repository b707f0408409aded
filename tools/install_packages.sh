#!/bin/sh
# Installs the Debian packages named as arguments that are missing: with apt when we may
# (root or passwordless sudo), otherwise it names them and fails.
set -eu

missing=
for package in "$@"; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$'; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    elevate=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    elevate=sudo
else
    echo "These packages are missing; install them and try again:$missing" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "No apt-get here; install the equivalents of:$missing" >&2
    exit 1
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$elevate apt-get update -q >/dev/null
# Word splitting separates the package names.
# shellcheck disable=SC2086
$elevate apt-get install -q -y --no-install-recommends $missing >/dev/null
