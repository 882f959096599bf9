#!/bin/bash
# Boot a REAL systemd as PID 1 of fresh pid/mount/net/uts/ipc/cgroup namespaces on a
# throw-away overlay of this machine's own root, run one command in it, power off,
# return the command's exit code.
#
#   run-in-systemd.sh [--root DIR] [--bind DIR[:DEST]]... [--prepare SCRIPT] [--want UNIT]... [--net]
#                     [--timeout SEC] [--journal FILE] [--] COMMAND [ARG...]
#
#  --root     the root below the overlay, for example one that debootstrap made (default: this machine's)
#  --bind     read-write bind of DIR (results written there survive); everything else is overlay
#  --prepare  script run chrooted in the new root before boot (e.g. dpkg -i x.deb)
#  --want     extra units pulled in beside the command (e.g. dbus.socket systemd-logind.service)
#  --net      keep the machine's network (default: private netns, loopback only)
#  --journal  after power-off, copy the whole journal (text) to FILE
# Needs root; only packages: systemd, util-linux .
set -euo pipefail
self=$(realpath "$0")
if [ "${RIN_STAGE:-}" = 2 ]; then
########## second stage: we are PID 1 of the new namespaces ##########
w=$RIN_WORK; r=$w/root
hostname rin
mkdir -p "$r" "$w/t"; mount -t tmpfs -o mode=755 rin "$w/t"; mkdir "$w/t/up" "$w/t/wk"
mount -t overlay overlay -o "lowerdir=$RIN_LOWER,upperdir=$w/t/up,workdir=$w/t/wk" "$r"
mount -t proc -o nosuid,nodev,noexec proc "$r/proc"
# /proc/sys is (mostly) the machine's own: without this PID 1 and systemd-sysctl change fs.file-max, fs.protected_* of the host
for d in sys sysrq-trigger irq bus; do [ -e "$r/proc/$d" ] || continue
  mount --bind "$r/proc/$d" "$r/proc/$d"; mount -o remount,bind,ro,nosuid,nodev,noexec "$r/proc/$d"; done
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$r/sys"
mount -t tmpfs -o ro,mode=755 tmpfs "$r/sys/fs/cgroup" 2>/dev/null || true
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$r/sys/fs/cgroup"
mount -t tmpfs -o mode=755,nosuid,strictatime dev "$r/dev"
for d in null zero full random urandom tty; do : > "$r/dev/$d"; mount --bind "/dev/$d" "$r/dev/$d"; done
mkdir "$r/dev/pts" "$r/dev/shm" "$r/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$r/dev/pts"
ln -s pts/ptmx "$r/dev/ptmx"; ln -s /proc/self/fd "$r/dev/fd"
for i in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${i%%:*}" "$r/dev/${i#*:}"; done
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$r/dev/shm"
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$r/run"; mkdir "$r/run/lock"
rm -rf "$r"/var/lib/systemd/timers 2>/dev/null || true
mkdir -p "$r/run/rin"; mount --bind "$w/io" "$r/run/rin"
while read -r b; do [ -n "$b" ] || continue; s=${b%%:*}; d=${b#*:}
  mkdir -p "$r$d"; mount --bind "$s" "$r$d"; done < "$w/io/binds"
# identity of this boot
rm -f "$r/etc/machine-id"; systemd-id128 new > "$r/etc/machine-id"; : > "$r/etc/fstab"
# Debian's tmp.conf ('D /tmp') would empty /tmp, bind mounts included: override it
mkdir -p "$r/etc/tmpfiles.d"; ln -sf /dev/null "$r/etc/tmpfiles.d/tmp.conf"; ln -sf /dev/null "$r/etc/tmpfiles.d/legacy.conf"
# container images often forbid maintainer scripts to start services; here they may
rm -f "$r/usr/sbin/policy-rc.d"
# nothing of the machine's own enabled units; mask what makes no sense here
etc=$r/etc/systemd/system; rm -rf "$etc"; mkdir -p "$etc"
for u in systemd-sysctl.service sys-fs-fuse-connections.mount sys-kernel-config.mount kmod-static-nodes.service modprobe@.service systemd-timesyncd.service systemd-udevd.service systemd-udev-trigger.service \
  systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-modules-load.service systemd-pstore.service \
  systemd-journald-audit.socket systemd-remount-fs.service systemd-firstboot.service systemd-random-seed.service \
  systemd-journal-flush.service sys-kernel-debug.mount sys-kernel-tracing.mount dev-hugepages.mount dev-mqueue.mount \
  getty@.service console-getty.service proc-sys-fs-binfmt_misc.automount systemd-ask-password-wall.path \
  systemd-ask-password-console.path; do ln -s /dev/null "$etc/$u"; done
{ echo '[Unit]'; echo 'Requires=basic.target rin.service'; echo 'After=basic.target'; echo AllowIsolate=yes
  while read -r u; do [ -z "$u" ] || echo "Wants=$u"; done < "$w/io/wants"; } > "$etc/rin.target"
cat > "$etc/rin.service" <<U
[Unit]
Description=command under test
SuccessAction=exit
FailureAction=exit
$(while read -r u; do [ -z "$u" ] || echo "After=$u"; done < "$w/io/wants")
[Service]
Type=oneshot
Environment=HOME=/root LANG=C.UTF-8 PATH=$PATH
WorkingDirectory=$(cat "$w/io/cwd")
StandardOutput=file:/run/rin/out
StandardError=file:/run/rin/out
ExecStart=/bin/bash /run/rin/cmd
TimeoutStartSec=infinity
U
if [ -n "$RIN_JOURNAL" ]; then cat >> "$etc/rin.service" <<U
ExecStopPost=-/bin/sh -c 'journalctl --sync; journalctl -b --no-pager -o short-monotonic > /run/rin/journal.txt'
U
fi
cd "$r"; mkdir -p .old; pivot_root . .old; cd /
if [ -f /run/rin/prepare ]; then /bin/bash /run/rin/prepare >/run/rin/out 2>&1; fi
umount -l /.old; rmdir /.old
# PID 1 leaves propagation alone in a container; LoadCredential= needs a shared tree (a new peer group, not the host's)
mount --make-rshared /
export -n RIN_WORK RIN_LOWER RIN_JOURNAL; ll=$RIN_LOGLEVEL; 
exec env -i container=rin PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  /lib/systemd/systemd --system --unit=rin.target --log-level=$ll --show-status=0 </dev/null >/dev/null 2>&1
fi
########## first stage ##########
binds=() wants=() prepare= net=1 limit=120 journal= lower=/
while [ $# -gt 0 ]; do case $1 in
  --root) lower=$(realpath "$2"); shift 2;;
  --bind) binds+=("$2"); shift 2;; --prepare) prepare=$2; shift 2;;
  --want) wants+=("$2"); shift 2;; --net) net=; shift;;
  --timeout) limit=$2; shift 2;; --journal) journal=$2; shift 2;;
  --) shift; break;; -*) echo "unknown option $1" >&2; exit 64;; *) break;; esac; done
[ $# -gt 0 ] || { echo "no command" >&2; exit 64; }
skip() { echo "skipped: $1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || skip "a systemd of its own needs root"
[ -x "$lower/lib/systemd/systemd" ] || skip "systemd is not installed in $lower"
unshare --fork --pid --mount --mount-proc --cgroup --uts --ipc true 2>/dev/null \
  || skip "this machine refuses namespaces"

# a cgroup-v2 sub-tree of our own: pure v2 host, or the v2 part of a hybrid host
cg2=$(awk '$3=="cgroup2"{print $2; exit}' /proc/mounts)
[ -n "$cg2" ] || skip "there is no cgroup2"
own=$(sed -n 's/^0:://p' /proc/self/cgroup)   # v2 path of this process
cg=$cg2${own%/}/rin-$$
work=$(mktemp -d /tmp/rin.XXXXXX)
mkdir -p "$cg" 2>/dev/null || { rm -rf "$work"; skip "the cgroup tree cannot be written"; }
mkdir -p "$work/io"
mkfifo "$work/io/out"
cleanup() { set +e
  [ -z "${bootpid:-}" ] || kill -KILL "$bootpid" 2>/dev/null   # --kill-child ends the whole pid ns
  if [ -d "$cg" ]; then for _ in $(seq 50); do
    find "$cg" -depth -type d -exec rmdir {} + 2>/dev/null && break; sleep .05; done; fi
  rm -rf "$work"; }
trap cleanup EXIT; trap 'exit 130' INT TERM

printf '%q ' "$@" > "$work/io/cmd"
printf '%s\n' "${binds[@]:-}" > "$work/io/binds"
printf '%s\n' "${wants[@]:-}" > "$work/io/wants"
[ -z "$prepare" ] || cp "$prepare" "$work/io/prepare"
if [ "$lower" = / ]; then pwd; else echo /; fi > "$work/io/cwd"
export RIN_STAGE=2 RIN_LOWER=$lower RIN_WORK=$work RIN_JOURNAL=${journal:+1} RIN_LOGLEVEL=${RIN_LOGLEVEL:-info}

cat "$work/io/out" & catpid=$!
exec 9>"$work/io/out"       # keeps the fifo open until PID 1 is gone
( exec 9>&-
  echo "$BASHPID" > "$cg/cgroup.procs"
  exec unshare --fork --kill-child --pid --mount --mount-proc --propagation private \
     --cgroup --uts --ipc ${net:+--net} /bin/bash "$self" ) &
bootpid=$!
( exec 9>&- >/dev/null 2>&1; sleep "$limit"; kill -KILL $bootpid ) & dog=$!
rc=0; wait $bootpid || rc=$?
bootpid=
# Its sleep ends with it: it may hold what somebody reads to the end. KILL, because a caller may have
# started us with TERM blocked.
kill -KILL $dog $(pgrep -P $dog) 2>/dev/null || true
exec 9>&-; wait $catpid || true
[ -z "$journal" ] || cp "$work/io/journal.txt" "$journal" 2>/dev/null || true
[ $rc != 137 ] || echo "run-in-systemd: killed after ${limit}s" >&2
exit $rc
