#!/bin/bash
# Builds the Debian package of `make build` into out, and checks it with lintian: no errors, no warnings.
#   PROGRAM=FILE: of this program, instead of compiling one
set -euo pipefail
cd "$(dirname "$0")/.."
out=${DEB_OUT:-out}
for tool in dh lintian; do
    command -v $tool >/dev/null || {
        echo "deb: '$tool' is missing. Install what packaging needs: make deb-setup" >&2
        exit 66
    }
done
version=$(scripts/version.sh)
[ "$(dpkg-parsechangelog -S Version)" = "$version" ] || {
    echo "deb: debian/changelog is of another version than the sources ($version)" >&2
    exit 65
}
mkdir -p "$out"
rm -f "$out"/syncd_*.deb
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -S Timestamp)
export SOURCE_DATE_EPOCH
debian/rules clean
DEB_OUT=$out OUT=out/program debian/rules binary
package=$(echo "$out"/syncd_"$version"_*.deb)
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$package"
echo "built: $package ($(du -k "$package" | cut -f1) kB, installed $(dpkg-deb -f "$package" Installed-Size) kB)"
