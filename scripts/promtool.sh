#!/bin/sh
# Puts promtool, which checks and tests the alert rules, into .promtool in the package root: out of Debian's
# package prometheus, which is not installed, because it would start a server. Quick when it is there.
set -eu
cd "$(dirname "$0")/.."
if [ -x .promtool/promtool ] || command -v promtool >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null; then
    echo "promtool: this is not Debian: install Prometheus's promtool to check the alert rules" >&2
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
(
    cd "$folder"
    if ! apt-get download -qq prometheus >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ]; then apt-get update -qq; else sudo -n apt-get update -qq; fi
        apt-get download -qq prometheus >/dev/null
    fi
    dpkg-deb -x prometheus_*.deb .
)
mkdir -p .promtool
mv "$folder/usr/bin/promtool" .promtool/promtool
