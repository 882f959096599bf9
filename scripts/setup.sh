#!/bin/bash
# Installs the Debian 12 packages that are missing for what is named; quick when nothing is.
#   scripts/setup.sh [build] [demo] [test] [clients] [page] [deb]      default: build, demo and test
# `build` is what the compiler needs, `demo` adds what the tour runs, `test` what the tests run (an ssh
# server, too), `clients` what the tests of Examples/clients run, `page` the browser that clicks through
# the page of synctool ui, `deb` what builds and tests the Debian package. `scripts/setup.sh --list
# GROUP…` prints the packages and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

list=
[ "${1:-}" != --list ] || { list=1; shift; }
[ $# -gt 0 ] || set -- build demo test
packages=()
for group in "$@"; do
    case $group in
    build) packages+=(git make pkg-config python3 libsqlite3-dev libsystemd-dev libzstd-dev) ;;
    demo) packages+=(sqlite3) ;;
    test) packages+=(sqlite3 procps python3-venv openssh-client openssh-server) ;;
    clients) packages+=(golang-go nodejs) ;;
    page) packages+=(chromium) ;;
    deb) packages+=(debhelper lintian fakeroot debootstrap) ;;
    *) echo "setup: unknown group '$group'; known: build, demo, test, clients, page, deb" >&2; exit 64 ;;
    esac
done
if [ -n "$list" ]; then
    printf '%s\n' "${packages[@]}" | sort -u
    exit
fi

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

if ! command -v swift >/dev/null; then
    fail "there is no 'swift' on the PATH." \
        "Install Swift 6.3 for Debian 12: https://www.swift.org/install/linux"
fi
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -1)
case "$version" in
6.[3-9] | 6.[1-9][0-9] | [7-9].* | [1-9][0-9].*) ;;
*) fail "Swift ${version:-of an unknown version} is too old: syncd is built with 6.3." \
    "Install it: https://www.swift.org/install/linux" ;;
esac

if command -v dpkg-query >/dev/null; then
    missing=()
    for package in "${packages[@]}"; do
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
        [[ $state == ii* ]] || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        install=(apt-get install -y --no-install-recommends "${missing[@]}")
        if [ "$(id -u)" != 0 ]; then
            if sudo -n true 2>/dev/null; then
                install=(sudo env DEBIAN_FRONTEND=noninteractive "${install[@]}")
            else
                fail "these Debian packages are missing: ${missing[*]}" \
                    "Install them, then run make again:" \
                    "  sudo apt-get install ${missing[*]}"
            fi
        fi
        echo "setup: installing ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        if ! "${install[@]}" -qq >/dev/null 2>&1; then
            # The package lists may be missing or old: fetch them once, then show what goes wrong.
            if [ "$(id -u)" = 0 ]; then apt-get update -qq; else sudo apt-get update -qq; fi
            "${install[@]}" -qq >/dev/null
        fi
    fi
else
    for tool in pkg-config sqlite3 python3; do
        command -v "$tool" >/dev/null || fail "'$tool' is missing, and this is not Debian." \
            "Install what these Debian packages hold: ${packages[*]}"
    done
fi
