#!/bin/bash
# Removes what scripts/install.sh put below PREFIX (default /usr/local) and DESTDIR, and nothing else: the
# files, then the folders that it made, as far as they are empty. Databases, configuration, the state in
# /var/lib/syncd and the user 'syncd' stay.
set -euo pipefail
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}
manifest=$root$prefix/share/syncd/installed

fail() { echo "uninstall: $2" >&2; exit "$1"; }
[ -f "$manifest" ] || fail 66 \
    "nothing was installed below $root$prefix: there is no $manifest. Name where it is: make uninstall PREFIX=…"
[ -w "$(dirname "$manifest")" ] || fail 77 "$root$prefix cannot be written. Run it as root"

if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    case $prefix/ in
    "${HOME:-/nonexistent}"/*) systemctl --user disable --now syncd.socket syncd.service 2>/dev/null || true ;;
    *) [ "$(id -u)" != 0 ] || systemctl disable --now syncd.socket syncd.service 2>/dev/null || true ;;
    esac
fi

list=$(mktemp)
trap 'rm -f "$list"' EXIT
cp "$manifest" "$list"
sed -n 's/^file //p' "$list" | while read -r path; do rm -f "$root$path"; done
# Those within others first.
sed -n 's/^folder //p' "$list" | sort -r | while read -r path; do
    rmdir "$root$path" 2>/dev/null || true
done
if [ -z "$root" ] && [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
echo "removed from $root$prefix; databases, configuration and state were not touched"
