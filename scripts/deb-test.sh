#!/bin/bash
# The Debian package on a bare Debian 12 under a systemd of its own (run-in-systemd.sh): installed, the guide
# docs/getting-started.md followed word by word, upgraded while a client follows a writer, removed, purged.
#   scripts/deb-test.sh [PACKAGE]      default: the one in out; exit 77: cannot run here (says why)
# The bare system is made once by debootstrap, in BARE (default /var/cache/syncd-deb-test).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

if [ "${SYNCD_INSIDE:-}" = 1 ]; then
########## inside: root of the bare system, with systemd as PID 1 ##########
export DEBIAN_FRONTEND=noninteractive COMMITS
fail() { echo "FAILED: $*"; systemctl status syncd --no-pager 2>&1 | head -20 || true; journalctl -u syncd --no-pager 2>&1 | tail -30; exit 1; }
ok() { echo "ok: $*"; }
wait_for() { # wait_for SECONDS WHAT COMMAND...
    local end=$((SECONDS + $1)) what=$2; shift 2
    until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || fail "$what"; sleep 0.1; done
}
as_ann() { runuser -u ann -- env HOME=/home/ann XDG_RUNTIME_DIR=/run/user/1000 "$@"; }
# What apt and the system itself write is no trace of the package.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /test -o -path /home/ann \
        -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache/apt -o -path /var/log -o -path /var/tmp \
        -o -path /var/cache/ldconfig -o -path /etc/.pwd.lock -o -path /var/lib/systemd \) -prune -o -print | sort
}

useradd --uid 1000 --create-home --shell /bin/bash ann
echo 'ann ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ann
systemctl start user@1000 || fail "the user's systemd"
# What the package needs comes first: then what is left of it alone can be told.
apt-get install -qq -y sqlite3 libstdc++6 libzstd1 libsqlite3-0 >/dev/null
files >/tmp/before
cp /test/syncd_*.deb /home/ann/
cp /test/getting-started.md /home/ann/
chown -R ann: /home/ann

### the guide, by a user who does what it says
cd /home/ann
started=$(date +%s%N)
as_ann python3 /test/sessions.py --follow getting-started.md | tee /tmp/followed || fail "the guide"
grep -q "^#2 .*author unknown" /tmp/followed || fail "the guide led to no notice"
ok "the guide, word by word: $(( ($(date +%s%N) - started) / 1000000 )) ms from the package to the last command"
as_ann synctool untrack music.db >/dev/null || fail "untrack"
[ "$(sqlite3 music.db "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'syncd%'")" = 0 ] || fail "untrack left something"
as_ann systemctl --user stop syncd.socket syncd.service
as_ann systemctl --user disable syncd.socket 2>/dev/null
ok "untracked: the database is as it was"

### what the package set up
for unit in syncd.socket syncd.service; do
    [ "$(systemctl is-enabled $unit)" = enabled ] || fail "$unit is not enabled"
    [ "$(systemctl is-active $unit)" = active ] || fail "$unit is not active"
done
[ "$(stat -c '%a %U %G' /run/syncd/syncd.sock)" = "660 root syncd" ] || fail "the socket's mode"
id syncd >/dev/null || fail "there is no user syncd"
[ -d /etc/syncd/stores.d ] || fail "there is no folder for configuration"
ldd /usr/bin/syncd | grep -q -E 'swift|Foundation|not found' && fail "a library of Swift is needed"
[ "$(readlink /usr/bin/synctool)" = syncd ] || fail "synctool is no link"
[ -f /usr/share/man/man1/synctool-history.1.gz ] || fail "there are no manual pages"
ok "enabled, started, account, socket, pages"

### a store, a writer that does not stop, and a client, through an upgrade and twenty restarts
install -d -o syncd -g syncd -m 2770 /var/lib/syncd/stores
store=/var/lib/syncd/stores/a.db
runuser -u syncd -- sqlite3 $store "PRAGMA journal_mode=WAL; CREATE TABLE T(id INTEGER PRIMARY KEY, v TEXT)" >/dev/null
runuser -u syncd -- synctool track $store >/dev/null || fail "track"
synctool watch $store --json >/tmp/watched 2>/tmp/watch.errors & client=$!
wait_for 20 "the client follows" bash -c '[ "$(synctool status --json | grep -c clients)" -ge 0 ] && systemctl show syncd -p StatusText | grep -q "[1-9] client"'
( for n in $(seq "$COMMITS"); do
    runuser -u syncd -- sqlite3 -cmd ".timeout 20000" $store "INSERT INTO T VALUES ($n, 'x')" || exit 1
  done ) & writer=$!
socket=$(stat -c %i /run/syncd/syncd.sock)
before=$(systemctl show syncd -p MainPID --value)
apt-get install -qq -y /test/next/syncd_*.deb >/tmp/upgrade.log 2>&1 || { cat /tmp/upgrade.log; fail "upgrade"; }
[ "$(systemctl show syncd -p MainPID --value)" != "$before" ] || fail "the upgrade did not restart the daemon"
[ "$(stat -c %i /run/syncd/syncd.sock)" = "$socket" ] || fail "the socket did not stay"
ok "upgraded to $(dpkg-query -W -f '${Version}' syncd), under a client and a writer; the socket stays"
for _ in $(seq 10); do systemctl restart syncd || fail "an operator's restart was refused"; done
ok "ten restarts in a row"
wait $writer || fail "the writer"
wait_for 60 "the client was told of all: $(wc -l </tmp/watched)" bash -c '[ $(grep -o "\"kind\":\"insert\"" /tmp/watched | wc -l) -ge $COMMITS ]'
kill $client
python3 - "$COMMITS" <<'P' || fail "the client missed a commit, or was told of one twice"
import re, sys
keys = []
for line in open("/tmp/watched"):
    keys += re.findall(r'"T/(\d+)"', line) or re.findall(r'T/(\d+)', line)
assert sorted(map(int, keys)) == list(range(1, int(sys.argv[1]) + 1)), (len(keys), len(set(keys)))
P
ok "$COMMITS commits: each was told of once, through the upgrade and the restarts"

### figures
pid=$(systemctl show syncd -p MainPID --value)
awk '/^(Rss|Pss|Private_Dirty)/{print "figure:", $1, $2, "kB"}' "/proc/$pid/smaps_rollup"
echo "figure: installed $(dpkg-query -W -f '${Installed-Size}' syncd) kB, program $(stat -c %s /usr/bin/syncd) bytes"
for program in syncd synctool; do
    began=$(date +%s%N); for _ in 1 2 3 4 5 6 7 8 9 10; do $program --version >/dev/null; done
    echo "figure: $program --version $(( ($(date +%s%N) - began) / 10000000 )) ms"
done
systemctl restart syncd
systemctl stop syncd
began=$(date +%s%N); systemctl start syncd; echo "figure: start to READY $(( ($(date +%s%N) - began) / 1000000 )) ms"

### removal
cp $store /home/ann/kept.db
apt-get remove -qq -y syncd >/dev/null 2>&1 || fail "remove"
systemctl is-active syncd.service syncd.socket >/dev/null && fail "it still runs"
[ ! -e /run/syncd/syncd.sock ] || fail "the socket is still there"
[ -f $store ] || fail "removal took a database"
[ ! -e /usr/bin/syncd ] || fail "the program is still there"
sqlite3 /home/ann/kept.db "INSERT INTO T VALUES (1001, 'written without syncd')" || fail "a tracked database cannot be written without syncd"
ok "removed; state and databases stay, and a tracked database can be written"
apt-get purge -qq -y syncd >/dev/null 2>&1 || fail "purge"
[ ! -e /var/lib/syncd ] || fail "state is left"
[ -f /home/ann/kept.db ] || fail "purging took a user's database"
systemctl daemon-reload
files >/tmp/after
diff /tmp/before /tmp/after >/tmp/traces || { cat /tmp/traces; fail "traces are left"; }
systemctl list-units --all --no-legend 'syncd*' | grep -q . && fail "units are left"
ok "purged: no file is left but the account in /etc/passwd"
exit 0
fi

package=${1:-$(ls "$root"/out/syncd_*.deb 2>/dev/null | tail -1)}
[ -f "$package" ] || { echo "deb-test: there is no package in out. Build it: make deb" >&2; exit 66; }
[ "$(id -u)" = 0 ] || { echo "skipped: debootstrap and a systemd of its own need root" >&2; exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: debootstrap is missing (make deb-setup)" >&2; exit 77; }
bare=${BARE:-/var/cache/syncd-deb-test}
mirror=${MIRROR:-http://deb.debian.org/debian}

if [ ! -f "$bare/.complete" ]; then
    echo "deb-test: making a bare Debian 12 in $bare"
    rm -rf "$bare"
    mkdir -p "$bare"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,libpam-systemd,sudo,python3-minimal \
        bookworm "$bare" "$mirror" >"$bare.log" 2>&1 || {
        tail -5 "$bare.log" >&2
        echo "skipped: debootstrap failed (no network?)" >&2
        rm -rf "$bare"
        exit 77
    }
    rm -f "$bare.log"
    touch "$bare/.complete"
fi
# What the commands of the guide fetch: there is no network within the test.
if [ ! -f "$bare/.fetched" ]; then
    chroot "$bare" apt-get -qq update
    chroot "$bare" apt-get -qq -y --download-only install sqlite3 libsqlite3-0 libstdc++6 libzstd1 libsystemd0 python3 >/dev/null
    chroot "$bare" apt-get -qq -y install python3 >/dev/null
    touch "$bare/.fetched"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/next" "$work/tree"
cp "$package" "$work/"
cp "$here/sessions.py" "$here/deb-test.sh" "$root/docs/getting-started.md" "$work/"
# The next version: the same with another number.
dpkg-deb -R "$package" "$work/tree"
version=$(dpkg-deb -f "$package" Version)
sed -i "s/^Version: .*/Version: $version+next/" "$work/tree/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/tree" "$work/next/syncd_${version}+next_$(dpkg-deb -f "$package" Architecture).deb" >/dev/null
rm -rf "$work/tree"
"$here/run-in-systemd.sh" --root "$bare" --bind "$work:/test" --timeout 600 -- \
    env SYNCD_INSIDE=1 COMMITS="${COMMITS:-600}" bash /test/deb-test.sh
