#!/bin/sh
# Makes .venv in the package root with the Python packages that tests run against. Quick when all is there.
set -eu
cd "$(dirname "$0")/.."
varlink=31.0.0
if [ "$(cat .venv/varlink-version 2>/dev/null)" = "$varlink" ] && [ -x .venv/bin/python ]; then exit 0; fi
# Tests may start this twice at once: one makes it, the other waits.
mkdir -p .venv
exec 9>.venv/lock
flock 9
if [ "$(cat .venv/varlink-version 2>/dev/null)" = "$varlink" ]; then exit 0; fi
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check "varlink==$varlink"
echo "$varlink" > .venv/varlink-version
