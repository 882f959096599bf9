#!/usr/bin/env python3
"""hostility.py SYNCD SECONDS: one daemon under the attacks of one user, while another one works.

As root, in a folder of its own that is removed at the end. User 2001 sends bad messages, half messages and
calls that take long, reads no replies, keeps locks, and gives the daemon damaged, changing and endless databases.
User 2002 commits 20 times a second and follows. Prints the latency of 2002's notices
and calls, beside that of a byte to another process of 2002's and back, which no daemon has a part in: what the
machine itself costs under the attack. Prints also the daemon's memory before, at its peak and after, and whether the
daemon ended. Exits 1 when it ended, when a notice was lost, or when a limit is exceeded (--p99-ms, --memory-mb,
--after-mb).
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

BOB, ALICE = 2001, 2002
SCHEMA = ("PRAGMA journal_mode = %s; CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);"
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
          "INSERT INTO Artist SELECT i, 'Name ' || i FROM n;")


class Daemon:
    """A connection."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self.rest = b""

    def send(self, method, more=False, **parameters):
        message = {"method": "org.syncd.Store." + method, "parameters": parameters}
        if more:
            message["more"] = True
        self.socket.sendall(json.dumps(message).encode() + b"\0")

    def receive(self):
        while b"\0" not in self.rest:
            part = self.socket.recv(1 << 20)
            if not part:
                raise EOFError
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return one.decode()

    def call(self, method, **parameters):
        self.send(method, **parameters)
        return self.receive()


# The attacks: each runs in a loop of its own, in a process of user 2001; an attack that the daemon ends begins again.

def bad_messages(path, folder):
    for _ in range(50):
        daemon = Daemon(path)
        kind = random.randrange(4)
        if kind == 0:
            daemon.socket.sendall(random.randbytes(random.randrange(1, 5000)) + b"\0")
        elif kind == 1:
            daemon.socket.sendall(b"[" * 900_000 + b"\0")
        elif kind == 2:
            daemon.socket.sendall(b'{"method":"org.syncd.Store.Head","parameters":{"store":' + b'"x' * 1000 + b"}}\0")
        else:
            daemon.call("RegisterConsumer", store=f"{folder}/0.db", name="x", lease=2**63 - 1)
    time.sleep(0.01)


def half_messages(path, folder):
    held = []
    for _ in range(60):
        daemon = Daemon(path)
        daemon.socket.sendall(b'{"method":"' + b"x" * 900_000)
        held.append(daemon)
    time.sleep(5)


def unread_replies(path, folder):
    held = []
    for _ in range(100):
        daemon = Daemon(path)
        for _ in range(10):
            daemon.send("History", more=True, store=f"{folder}/0.db")
        held.append(daemon)
    time.sleep(5)


def greedy_holds(path, folder):
    names = ["Artist/%d" % i for i in range(25_000)]
    feed = Daemon(path)
    feed.send("Subscribe", more=True, store=f"{folder}/1.db")
    name = json.loads(feed.receive())["parameters"]["subscription"]
    daemon = Daemon(path)
    for _ in range(5):
        daemon.call("Hold", subscription=name, objects=names)
        daemon.call("Release", subscription=name)


def waiting_calls(path, folder):
    lock = sqlite3.connect(f"{folder}/2.db", isolation_level=None, timeout=10)
    lock.execute("BEGIN IMMEDIATE")
    daemons = [Daemon(path) for _ in range(20)]
    for daemon in daemons:
        daemon.send("RegisterConsumer", store=f"{folder}/2.db", name="c")
    for daemon in daemons:
        daemon.receive()


def busy_store(path, folder):
    writer = sqlite3.connect(f"{folder}/3.db", isolation_level=None, timeout=10)
    writer.execute("PRAGMA synchronous = OFF")
    for index in range(500):
        writer.execute("UPDATE Artist SET Name = ? WHERE ArtistId <= 20", (str(index),))
        time.sleep(0.005)


def damaged_files(path, folder):
    store = f"{folder}/4.db"
    with open(store, "r+b") as file:
        for _ in range(20):
            file.seek(random.randrange(100, max(200, os.path.getsize(store))))
            file.write(random.randbytes(200))
            file.flush()
            time.sleep(0.05)
    try:
        Daemon(path).call("Status", store=store)
        if random.random() < 0.2:
            shutil.copy(f"{folder}/copy.db", store + ".new")
            os.rename(store + ".new", store)
            Daemon(path).call("Track", path=store)
    finally:
        time.sleep(0.2)


def special_files(path, folder):
    store = f"{folder}/5.db"
    for ending in ("-journal", "-wal", "-shm"):
        try:
            os.unlink(store + ending)
        except FileNotFoundError:
            pass
        try:
            os.mkfifo(store + ending)
        except FileExistsError:
            pass
        Daemon(path).call("Track", path=store)
        os.utime(store)
        time.sleep(0.2)
        try:
            os.unlink(store + ending)
        except FileNotFoundError:
            pass


def truncated_index(path, folder):
    store = f"{folder}/6.db"
    writer = sqlite3.connect(store, isolation_level=None, timeout=5)
    writer.execute("UPDATE Artist SET Name = 'x' WHERE ArtistId = 1")
    os.truncate(store + "-shm", 0)
    os._exit(0)


def endless_triggers(path, folder):
    store = f"{folder}/7.db"
    writer = sqlite3.connect(store, isolation_level=None, timeout=5)
    for table in ("syncd_change", "syncd_consumer", "syncd_transaction"):
        try:
            writer.execute(f"CREATE TRIGGER evil_{table} AFTER INSERT ON {table} BEGIN SELECT (WITH RECURSIVE "
                           "c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c); END")
        except sqlite3.OperationalError:
            pass
    writer.execute("DROP TABLE IF EXISTS syncd_entity" if random.random() < 0.1 else "SELECT 1")
    Daemon(path).call("Status", store=store)
    Daemon(path).call("Purge", store=store, force=True)
    time.sleep(0.2)


def connections(path, folder):
    held = []
    try:
        for _ in range(1100):
            held.append(Daemon(path))
    except OSError:
        pass
    time.sleep(2)


ATTACKS = [bad_messages, half_messages, unread_replies, greedy_holds, waiting_calls, busy_store, damaged_files,
           special_files, truncated_index, endless_triggers, connections]


def become(user):
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def attack(function, path, folder, end):
    """In a process of 2001's: again and again, in children that a crash of their own ends."""
    count = 0
    while time.time() < end:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                function(path, folder)
            except Exception:
                # The daemon may refuse and disconnect as it likes.
                time.sleep(0.05)
            os._exit(0)
        os.waitpid(child, 0)
        count += 1
    return count


def memory(pid, kinds=("RssAnon:", "RssShmem:")):
    """What the process has in memory and in no file, in MB: the pages of its program are the system's to keep."""
    total = 0
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(kinds):
            total += int(line.split()[1])
    return total / 1024


def workers_memory(pid):
    """Of all processes that the daemon has started; what they share is counted for each."""
    total = 0.0
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            total += sum(memory(child) for child in file.read_text().split())
        except OSError:
            pass
    return total


def echo():
    """A socket to a process that sends back what it gets."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        while byte := theirs.recv(1):
            theirs.sendall(byte)
        os._exit(0)
    theirs.close()
    return ours


def milliseconds_of(body):
    begin = time.monotonic()
    body()
    return (time.monotonic() - begin) * 1000


def follow(path, store, end, report):
    """As 2002: one row, one notice, one call, one byte, twenty times a second."""
    other = echo()
    feed = Daemon(path)
    feed.send("Subscribe", more=True, store=store)
    feed.receive()
    writer = sqlite3.connect(store, isolation_level=None, timeout=30)
    writer.execute("PRAGMA synchronous = OFF")
    caller = Daemon(path)
    notices, calls, echoes = [], [], []

    def notice():
        while '"transaction":' not in feed.receive():
            pass

    def head():
        answer = caller.call("Head", store=store)
        if '"token"' not in answer:
            raise SystemExit(answer)

    def byte():
        other.sendall(b"x")
        other.recv(1)

    while time.time() < end:
        writer.execute("INSERT INTO Artist(Name) VALUES ('alice')")
        notices.append(milliseconds_of(notice))
        calls.append(milliseconds_of(head))
        echoes.append(milliseconds_of(byte))
        time.sleep(0.05)
    report.write_text(json.dumps({"notices": notices, "calls": calls, "echoes": echoes}))


def child_of(user, body):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            become(user)
            body()
            status = 0
        except BaseException as error:
            print(f"{user}: {type(error).__name__}: {error}", file=sys.stderr)
        os._exit(status)
    return child


def quantiles(values):
    values = sorted(values)
    pick = lambda part: values[min(len(values) - 1, int(len(values) * part))]
    return f"p50 {pick(0.5):.2f} ms, p99 {pick(0.99):.2f} ms, max {values[-1]:.2f} ms ({len(values)})", pick(0.99)


def prepare(folder, path):
    for user, name, count in ((BOB, "bob", 8), (ALICE, "alice", 1)):
        (folder / name).mkdir()
        for index in range(count):
            store = folder / name / f"{index}.db"
            database = sqlite3.connect(store)
            database.executescript(SCHEMA % ("DELETE" if index == 5 else "WAL"))
            database.close()
            shutil.chown(store, user, user)
        shutil.chown(folder / name, user, user)
        for store in sorted((folder / name).glob("*.db")):
            answer = Daemon(path).call("Track", path=str(store))
            if '"error"' in answer:
                raise SystemExit(answer)
            for ending in ("-wal", "-shm"):
                if os.path.exists(f"{store}{ending}"):
                    os.chown(f"{store}{ending}", user, user)
    shutil.copy(folder / "bob" / "4.db", folder / "bob" / "copy.db")
    os.chown(folder / "bob" / "copy.db", BOB, BOB)


def measure(arguments, folder):
    path = str(folder / "syncd.sock")
    (folder / "syncd.yaml").write_text("")
    log = (folder / "log").open("w")
    daemon = subprocess.Popen(
        [arguments.syncd, "--user", "--socket", path, "--state", str(folder / "state"), "--config",
         str(folder / "syncd.yaml")], stderr=log)
    children = []
    try:
        while not os.path.exists(path):
            if daemon.poll() is not None:
                raise SystemExit((folder / "log").read_text())
            time.sleep(0.05)
        os.chmod(path, 0o666)
        prepare(folder, path)
        time.sleep(12)
        before = peak = memory(daemon.pid)
        workers = workers_memory(daemon.pid)
        end = time.time() + arguments.seconds
        bobs = str(folder / "bob")
        for function in ATTACKS:
            if function.__name__ not in arguments.without:
                children.append(child_of(BOB, lambda function=function: attack(function, path, bobs, end)))
        report = folder / "alice" / "report"
        alice = child_of(ALICE, lambda: follow(path, f"{folder}/alice/0.db", end, report))
        while time.time() < end and daemon.poll() is None:
            peak = max(peak, memory(daemon.pid))
            workers = max(workers, workers_memory(daemon.pid))
            time.sleep(0.1)
        ended = daemon.poll()
        status = os.waitstatus_to_exitcode(os.waitpid(alice, 0)[1])
        for child in children:
            os.waitpid(child, 0)
        children = []
        after = before
        for _ in range(60):
            time.sleep(1)
            after = memory(daemon.pid) if ended is None else 0
            if after <= before + arguments.after_mb:
                break
        files = memory(daemon.pid, ("RssFile:",)) if ended is None else 0
        return before, peak, after, workers, files, ended, status, report
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        if daemon.poll() is None:
            daemon.terminate()
            try:
                print("stopped with", daemon.wait(30))
            except subprocess.TimeoutExpired:
                daemon.kill()
                print("did not stop within 30 s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("syncd")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--p99-ms", type=float, default=float("inf"), help="the limit of 2002's notices")
    parser.add_argument("--memory-mb", type=float, default=float("inf"), help="the limit above the idle daemon")
    parser.add_argument("--after-mb", type=float, default=10, help="the limit above the idle daemon a minute after")
    parser.add_argument("--without", action="append", default=[], help="an attack that is left out")
    parser.add_argument("--log", action="store_true", help="print the end of the daemon's log")
    arguments = parser.parse_args()
    if os.getuid() != 0:
        sys.exit("hostility.py: only root can be two other users")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostility"))
    os.chmod(folder, 0o755)
    try:
        before, peak, after, workers, files, ended, status, report = measure(arguments, folder)
        print("the daemon", "did not end" if ended is None else f"ended with {ended}")
        print(f"memory: {before:.0f} MB before, {peak:.0f} MB at its peak, {after:.0f} MB within a minute after; its workers "
              f"together {workers:.0f} MB at their peak; {files:.0f} MB of its program and files are in memory beside it")
        late = float("inf")
        if report.exists():
            figures = json.loads(report.read_text())
            text, late = quantiles(figures["notices"])
            print("notices:", text)
            print("calls:  ", quantiles(figures["calls"])[0])
            print("a byte and back:", quantiles(figures["echoes"])[0])
        if arguments.log or ended is not None:
            print((folder / "log").read_text()[-3000:])
        isGood = ended is None and status == 0 and late <= arguments.p99_ms
        isSmall = peak - before <= arguments.memory_mb and after - before <= arguments.after_mb
        sys.exit(0 if isGood and isSmall else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
