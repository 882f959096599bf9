#!/bin/bash
# syncd under a real systemd: start, socket activation, reload, watchdog, crash, clients through restarts.
#   scripts/systemd-test.sh [BUILD-DIRECTORY]     exit 77: cannot run here (says why)
# The build directory is that of `swift build --show-bin-path`: syncd comes from there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
bin=${1:-$(cd "$root" && swift build --show-bin-path)}

if [ "${SYNCD_INSIDE:-}" = 1 ]; then
########## inside: root, with systemd as PID 1 ##########
fail() { echo "FAILED: $*"; systemctl status syncd --no-pager | head -20 || true; journalctl -u syncd --no-pager | tail -30; exit 1; }
ok() { echo "ok: $*"; }
show() { systemctl show syncd -p "$1" --value; }
wait_for() { # wait_for SECONDS WHAT COMMAND...
    local end=$((SECONDS + $1)) what=$2; shift 2
    until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || fail "$what"; sleep 0.1; done
}
call() {
    python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.connect("/run/syncd/syncd.sock")
s.sendall(b"{\"method\":\"org.syncd.Store.List\"}\0")
b = b""
while not b.endswith(b"\0"):
    c = s.recv(65536)
    if not c: raise SystemExit("closed")
    b += c
print(b[:-1].decode())'
}

# Copied out of /tmp: the unit's PrivateTmp would hide them there.
install -m 755 "$bin/syncd" /usr/bin/
install -m 644 "$root/systemd/syncd.service" "$root/systemd/syncd.socket" /etc/systemd/system/
install -D -m 644 "$root/systemd/syncd.sysusers" /usr/lib/sysusers.d/syncd.conf
install -D -m 644 "$root/systemd/syncd.tmpfiles" /usr/lib/tmpfiles.d/syncd.conf
systemd-sysusers; systemd-tmpfiles --create
mkdir -p /etc/systemd/system/syncd.service.d
# The libraries of a development build lie elsewhere; ProtectHome and PrivateTmp may hide them.
if libs=$(ldd /usr/bin/syncd | sed -n 's|.*=> \(/[^ ]*\)/libswiftCore.so.*|\1|p') && [ -n "$libs" ]; then
    mkdir -p /usr/lib/swift-runtime; cp -L "$libs"/*.so /usr/lib/swift-runtime/
    printf '[Service]\nEnvironment=LD_LIBRARY_PATH=/usr/lib/swift-runtime\n' > /etc/systemd/system/syncd.service.d/runtime.conf
fi
printf '[Service]\nWatchdogSec=2\n' > /etc/systemd/system/syncd.service.d/watchdog.conf
systemctl daemon-reload

# A daemon of this machine may have left its state, which is below the overlay.
[ ! -e /var/lib/syncd ] || mv /var/lib/syncd /var/lib/syncd.before
# A store where the unit may write.
install -d -o syncd -g syncd -m 2770 /var/lib/syncd/stores
store=/var/lib/syncd/stores/music.db
runuser -u syncd -- sqlite3 $store "PRAGMA journal_mode=WAL; CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT);" >/dev/null
printf 'stores:\n  - path: %s\n    track: true\n' $store > /etc/syncd/syncd.yaml

systemctl start syncd || fail "systemctl start syncd"
[ "$(show ActiveState)" = active ] || fail "not active"
[ "$(systemctl is-active syncd.socket)" = active ] || fail "the socket was not activated with it"
ok "start: READY"
show StatusText | grep -q "1 store" || fail "status text: $(show StatusText)"
ok "status: $(show StatusText)"
[ "$(stat -c '%a %U %G' /run/syncd/syncd.sock)" = "660 root syncd" ] || fail "socket mode"
call | grep -q music.db || fail "the socket does not answer"
ok "answers on the socket"
journalctl -u syncd SYNCD_STORE=$store --no-pager -o cat | grep -q opened || fail "no journal field"
ok "journal: SYNCD_STORE="

systemctl stop syncd.service || fail stop
[ "$(show Result)" = success ] || fail "stop: $(show Result)"
call | grep -q music.db || fail "a connection did not start the service"
ok "socket activation"

printf 'stores:\n  - path: %s\n  - path: /var/lib/syncd/stores/second.db\n' $store > /etc/syncd/syncd.yaml
before=$(show MainPID)
systemctl reload syncd || fail reload
[ "$(show MainPID)" = "$before" ] || fail "reload restarted it"
wait_for 5 "reload: $(show StatusText)" bash -c "systemctl show syncd -p StatusText --value | grep -q '2 stores'"
printf 'stores:\n  - pth: x\n' > /etc/syncd/syncd.yaml
systemctl reload syncd || fail "reload of a wrong configuration"
journalctl -u syncd --no-pager -o cat | grep -q "syncd.yaml:2" || fail "no line number in the journal"
[ "$(show ActiveState)" = active ] || fail "a wrong configuration stopped it"
ok "reload, and a wrong configuration changes nothing"
printf 'stores:\n  - path: %s\n' $store > /etc/syncd/syncd.yaml

# Clients through restarts: each call is answered, as nobody is told to go away before the stop.
clients() { # clients COMMAND...: 30 calls, each by COMMAND
    for _ in $(seq 30); do "$@" >/dev/null || { echo refused; exit 1; }; sleep 0.02; done
}
( clients call ) & clients=$!
for _ in 1 2 3; do sleep 0.2; systemctl restart syncd; done
wait $clients || fail "a client was refused during restarts"
ok "clients are answered through restarts"

# Killed, the daemon may have had a call that it cannot answer any more. Who calls again is answered.
call_again() { call || call; }
( clients call_again ) & clients=$!
sleep 0.5; kill -9 "$(show MainPID)"
wait $clients || fail "a client was refused after kill -9"
ok "clients connect through kill -9"
wait_for 10 "kill -9: restart" bash -c '[ "$(systemctl show syncd -p ActiveState --value)" = active ]'
[ "$(show NRestarts)" -ge 1 ] || fail "kill -9: not restarted"
ok "kill -9: restarted"

restarts=$(show NRestarts)
kill -STOP "$(show MainPID)"
wait_for 20 "watchdog" bash -c "[ \$(systemctl show syncd -p NRestarts --value) -gt $restarts ]"
wait_for 10 "watchdog: restart" bash -c '[ "$(systemctl show syncd -p ActiveState --value)" = active ]'
journalctl -u syncd --no-pager -o cat | grep -q -i watchdog || fail "no word of the watchdog"
ok "watchdog: killed and restarted"
call | grep -q music.db || fail "does not answer after the watchdog"

# Two users' stores, on one daemon: a worker process for each owner, in the same sandbox.
for user in alice bob; do
    useradd --no-create-home --groups syncd $user 2>/dev/null || true
    install -d -o $user -g syncd -m 2770 /var/lib/syncd/$user
    runuser -u $user -- sh -c "umask 007; sqlite3 /var/lib/syncd/$user/notes.db 'CREATE TABLE Note(Id INTEGER PRIMARY KEY, Text TEXT)'; chmod 660 /var/lib/syncd/$user/notes.db"
done
printf 'stores:\n  - path: %s\n  - {path: /var/lib/syncd/alice/notes.db, track: true}\n  - {path: /var/lib/syncd/bob/notes.db, track: true}\n' \
    $store > /etc/syncd/syncd.yaml
systemctl reload syncd || fail "reload with two users' stores"
tracked() { runuser -u "$1" -- sqlite3 "/var/lib/syncd/$1/notes.db" "SELECT count(*) FROM syncd_log" | grep -qx '[0-9]*'; }
for user in alice bob; do wait_for 15 "the store of $user is tracked" tracked $user; done
[ "$(pgrep -c -f 'syncd worker --owner')" = 2 ] || fail "workers: $(pgrep -a -f 'syncd worker')"
kill -9 "$(pgrep -f "syncd worker --owner $(id -u alice)")"
wait_for 15 "the worker of alice is back" bash -c '[ "$(pgrep -c -f "[s]yncd worker --owner")" = 2 ]'
[ "$(show ActiveState)" = active ] || fail "a worker's end: $(show ActiveState)"
ok "two users: a worker each, and one that is killed comes back"

systemctl stop syncd.service
systemctl reset-failed syncd.service 2>/dev/null || true
printf 'stroes: []\n' > /etc/syncd/syncd.yaml
systemctl start syncd.service 2>/dev/null && fail "started with a wrong configuration"
sleep 1.5
[ "$(show ExecMainStatus)" = 78 ] || fail "configuration: status $(show ExecMainStatus)"
[ "$(show ActiveState)" = failed ] || fail "configuration: $(show ActiveState)"
ok "a wrong configuration ends with 78 and is not retried"
[ "$(systemctl is-active syncd.socket)" = inactive ] || fail "the socket is $(systemctl is-active syncd.socket)"

# Clients that wait, one after the other, must not have it started until systemd gives up.
systemctl start syncd.socket || fail "the socket does not start"
starts() { journalctl -u syncd --no-pager -o cat | grep -c '^Starting syncd.service'; }
before=$(starts)
for _ in 1 2 3; do call >/dev/null 2>&1 && fail "a call was answered with a wrong configuration"; done
wait_for 10 "a wrong configuration: the socket is closed" bash -c '[ "$(systemctl is-active syncd.socket)" = inactive ]'
sleep 1
[ "$(($(starts) - before))" -le 1 ] || fail "started $(($(starts) - before)) times"
[ "$(show Result)" = exit-code ] || fail "result $(show Result), not exit-code"
[ ! -e /run/syncd/syncd.sock ] || fail "the socket is there still"
printf 'stores:\n  - path: %s\n' $store > /etc/syncd/syncd.yaml
systemctl start syncd || fail "it does not start with the corrected configuration"
call | grep -q music.db || fail "does not answer with the corrected configuration"
[ "$(systemctl is-active syncd.socket)" = active ] || fail "the socket did not come back"
ok "a wrong configuration closes the socket, and a start with a right one opens it"
exit 0
fi

exposure=$(systemd-analyze security --offline=true "$root/systemd/syncd.service" 2>/dev/null | tail -1 || true)
if systemd-analyze security --offline=true --threshold=15 "$root/systemd/syncd.service" >/dev/null 2>&1; then
    echo "ok: exposure ${exposure##*: }"
else
    echo "FAILED: exposure ${exposure##*: }, 1.5 at most"; exit 1
fi
SYNCD_INSIDE=1 exec "$here/run-in-systemd.sh" --timeout 120 -- env SYNCD_INSIDE=1 bash "$here/systemd-test.sh" "$bin"
