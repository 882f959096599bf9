#!/bin/sh
# Makes .venv-peers in the package root with the migration tools that tests run. Quick when all is there.
set -eu
cd "$(dirname "$0")/.."
wanted="Django==5.2.8 alembic==1.17.1"
if [ "$(cat .venv-peers/versions 2>/dev/null)" = "$wanted" ]; then exit 0; fi
# Tests may start this twice at once: one makes it, the other waits.
mkdir -p .venv-peers
exec 9>.venv-peers/lock
flock 9
if [ "$(cat .venv-peers/versions 2>/dev/null)" = "$wanted" ]; then exit 0; fi
python3 -m venv .venv-peers
# shellcheck disable=SC2086
.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check $wanted
echo "$wanted" > .venv-peers/versions
