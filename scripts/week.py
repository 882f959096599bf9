#!/usr/bin/env python3
"""week.py PROGRAMS SECONDS: a week of a machine in an hour, or in SECONDS.

PROGRAMS is the folder with syncd and synctool. Twenty stores have four writers each and fifty clients together; a
second machine has a copy of each store, edits it, and exchanges through folders that go away and come back. The
daemons are reloaded, restarted, killed and upgraded (to the programs of --other) beside all that. Then each client
has to have seen each commit of its store once, in order; the copies have to be equal; and memory, descriptors and
WAL files of the daemon must not have grown from the second quarter to the last one. Writes the samples to
--samples as CSV and to --plot as SVG. Exits 1 when something was missed, told twice, differs or has grown; the
folder is kept then.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SCHEMA = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE event(id TEXT PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE SET NULL) WITHOUT ROWID;
    CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT NOT NULL, rank INTEGER DEFAULT 0, price REAL);
    CREATE INDEX item_rank ON item(rank);
    INSERT INTO item(title, rank) VALUES ('first', 1), ('second', 2), ('third', 3);"""
QUIET_SECONDS_MAX = 120


class Machine:
    """A home, a daemon and a copy of each store."""

    def __init__(self, programs, folder, name):
        self.programs, self.folder, self.name = programs, folder / name, name
        self.folder.mkdir()
        self.socket = str(self.folder / "syncd.sock")
        self.environment = dict(os.environ, HOME=str(self.folder), SYNCD_SOCKET=self.socket)
        for variable in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
            self.environment[variable] = str(self.folder)
        self.log = open(self.folder / "log", "ab")
        self.daemon = None

    def start(self):
        self.begin = os.path.getsize(self.log.name)
        self.daemon = subprocess.Popen(
            [self.programs / "syncd", "--user"], env=self.environment, stdout=self.log, stderr=self.log)

    def end(self, with_signal):
        """Its status; 0 too where the signal came before it caught signals: nothing was there yet to be closed."""
        self.daemon.send_signal(with_signal)
        status = self.daemon.wait(60)
        return 0 if status == -with_signal and not self.was_ready() else status

    def was_ready(self):
        with open(self.log.name, "rb") as log:
            log.seek(self.begin)
            return b"ready, " in log.read()

    def path(self, store):
        return str(self.folder / f"{store}.db")

    def tool(self, *arguments, accepts=(0,)):
        command = [self.programs / "synctool", *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode not in accepts:
            raise SystemExit(f"{command}: status {done.returncode}\n{done.stderr}")
        return done.stdout


class Feed:
    """A client that follows a store with a token, whatever happens to the daemon."""

    def __init__(self, path, store, end):
        self.path, self.store, self.end = path, store, end
        self.token, self.seen, self.faults, self.ends = None, [], [], 0

    def run(self):
        while not self.end.is_set():
            try:
                self.follow()
            except (OSError, EOFError):
                self.ends += 1
                time.sleep(0.05)

    def follow(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.settimeout(0.5)
            parameters = {"store": self.store} | ({"after": self.token} if self.token else {})
            call = {"method": "org.syncd.Store.Subscribe", "more": True, "parameters": parameters}
            connection.sendall(json.dumps(call).encode() + b"\0")
            rest = b""
            while not self.end.is_set():
                try:
                    part = connection.recv(1 << 20)
                except socket.timeout:
                    continue
                if not part:
                    raise EOFError
                *messages, rest = (rest + part).split(b"\0")
                for message in messages:
                    self.take(json.loads(message))

    def take(self, reply):
        parameters = reply.get("parameters", {})
        if "error" in reply:
            # The store is not open yet after a start.
            if reply["error"].rsplit(".", 1)[-1] not in ("UnknownStore", "Busy", "Unreachable"):
                self.faults.append(f"{self.store}: {reply['error']}: {parameters.get('reason')}")
            raise EOFError
        for change in (parameters.get("transaction") or {}).get("changes", []):
            if change["entity"] == "event" and change["kind"] == "insert":
                self.seen.append(change["object"].removeprefix("event/").removeprefix("s:"))
        self.token = parameters.get("token") or self.token


def connect(path):
    database = sqlite3.connect(path, isolation_level=None, timeout=30)
    database.execute("PRAGMA foreign_keys = ON")
    return database


def write(paths, name, rate, end, seed):
    """A process that writes to all stores, a commit in each turn."""
    chance = random.Random(f"{seed}{name}")
    databases = [connect(path) for path in paths]
    count = 0
    while not os.path.exists(end):
        database = chance.choice(databases)
        count += 1
        database.execute("BEGIN IMMEDIATE")
        item = database.execute("SELECT id FROM item ORDER BY random() LIMIT 1").fetchone()
        kind = chance.random()
        if kind < 0.3 or item is None:
            database.execute("INSERT INTO item(title, rank) VALUES (?, ?)", (f"{name} {count}", count % 100))
        elif kind < 0.9:
            database.execute("UPDATE item SET rank = ?, price = ? WHERE id = ?", (count, chance.random(), item[0]))
        else:
            database.execute("DELETE FROM item WHERE id = ?", item)
        item = database.execute("SELECT max(id) FROM item").fetchone()
        database.execute("INSERT INTO event VALUES (?, ?)", (f"{name}-{count}", item[0]))
        database.execute("COMMIT")
        time.sleep(chance.expovariate(rate))


def listen(path, stores, folder, name):
    """A process of several clients; writes what they saw when the file `stop` is there."""
    end = threading.Event()
    feeds = [Feed(path, store, end) for store in stores]
    threads = [threading.Thread(target=feed.run, daemon=True) for feed in feeds]
    for thread in threads:
        thread.start()
    while not (folder / "stop").exists():
        time.sleep(0.2)
        if not all(feed.token for feed in feeds):
            continue
        counts = {str(index): len(feed.seen) for index, feed in enumerate(feeds)}
        # Under a name of its own first: the other side reads whole files.
        (folder / f"{name}.new").write_text(json.dumps(counts))
        (folder / f"{name}.new").rename(folder / f"{name}.counts")
    end.set()
    for thread in threads:
        thread.join(10)
    (folder / f"{name}.seen").write_text(
        json.dumps([{"store": one.store, "seen": one.seen, "faults": one.faults, "ends": one.ends} for one in feeds]))


def child(body, *arguments):
    process = os.fork()
    if process == 0:
        status = 1
        try:
            body(*arguments)
            status = 0
        except BaseException as error:
            print(f"{body.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
        os._exit(status)
    return process


def sample(machine, begin):
    """Seconds, private memory in MB, descriptors, and MB of WAL files; None while the daemon is away."""
    process = machine.daemon.pid
    try:
        lines = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        private = sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty", "Private_Clean")))
        descriptors = len(os.listdir(f"/proc/{process}/fd"))
    except (OSError, ValueError):
        return None
    logs = sum(file.stat().st_size for file in machine.folder.glob("*.db-wal"))
    return time.monotonic() - begin, private / 1024, descriptors, logs / 1e6


def prepare(options, folder):
    first, second = (Machine(options.programs.resolve(), folder, name) for name in "ab")
    stores = [f"store{index:02}" for index in range(options.stores)]
    for machine in (first, second):
        machine.start()
        deadline = time.monotonic() + 30
        while not os.path.exists(machine.socket) and time.monotonic() < deadline:
            time.sleep(0.05)
    for store in stores:
        database = sqlite3.connect(first.path(store))
        database.executescript(SCHEMA)
        database.close()
        remote = folder / f"remote-{store}"
        remote.mkdir()
        first.tool("track", first.path(store))
        first.tool("remote", "add", first.path(store), "origin", f"dir:{remote}")
        first.tool("sync", first.path(store))
        second.tool("clone", f"dir:{remote}", second.path(store))
        second.tool("track", second.path(store))
    return first, second, stores


def disturb(machines, options, folder, begin):
    """What happens to a machine in a week; the samples of the first daemon, and faults."""
    chance = random.Random(options.seed)
    first, counts, faults, samples = machines[0], collections.Counter(), [], []
    programs = [options.programs.resolve(), (options.other or options.programs).resolve()]
    next_event = begin + options.settle
    while time.monotonic() < begin + options.seconds:
        one = sample(first, begin)
        if one:
            samples.append(one)
        time.sleep(0.5)
        for machine in machines:
            if machine.daemon.poll() is not None:
                faults.append(f"the daemon of {machine.name} ended by itself: {machine.daemon.returncode}")
                machine.start()
        if time.monotonic() < next_event:
            continue
        next_event = time.monotonic() + chance.expovariate(1 / options.every)
        machine = chance.choice(machines)
        event = chance.choice(["reload", "restart", "kill", "upgrade", "remote", "remote"])
        counts[event] += 1
        if event == "reload":
            machine.daemon.send_signal(signal.SIGHUP)
        elif event in ("restart", "upgrade"):
            status = machine.end(signal.SIGTERM)
            if status != 0:
                faults.append(f"the daemon of {machine.name} was stopped and ended with {status}")
            if event == "upgrade":
                machine.programs = programs[programs[0] == machine.programs]
            machine.start()
        elif event == "kill":
            machine.end(signal.SIGKILL)
            time.sleep(chance.choice([0, 0.5, 3]))
            machine.start()
        else:
            remote = chance.choice(sorted(folder.glob("remote-*")))
            away = remote.with_name("away-" + remote.name)
            remote.rename(away)
            threading.Timer(chance.choice([1, 5, 20]), away.rename, (remote,)).start()
    print("events:", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())), flush=True)
    return samples, faults


def rows(machine, store, table):
    database = connect(machine.path(store))
    query = {"event": "SELECT id FROM event ORDER BY id", "item": "SELECT title, rank, price FROM item ORDER BY 1, 2, 3"}
    found = database.execute(query[table]).fetchall()
    database.close()
    return found


def settle(machines, stores):
    """Waits until the copies are equal."""
    start = time.monotonic()
    while True:
        different = [
            f"{store}.{table}: the copies differ" for store in stores for table in ("event", "item")
            if rows(machines[0], store, table) != rows(machines[1], store, table)]
        if not different or time.monotonic() - start > QUIET_SECONDS_MAX:
            print(f"the copies are equal after {time.monotonic() - start:.0f} s of quiet: {not different}", flush=True)
            return different
        time.sleep(0.5)


def unseen(machine, listeners, folder, stores_of):
    """Waits until the clients have seen as many commits as there are; then has them stop."""
    start = time.monotonic()
    while time.monotonic() - start < QUIET_SECONDS_MAX:
        wanted = {store: len(rows(machine, store, "event")) for store in {s for one in stores_of for s in one}}
        counts = [json.loads((folder / f"{name}.counts").read_text()) for name in range(len(stores_of))]
        if all(counts[name].get(str(index), 0) >= wanted[store]
               for name, own in enumerate(stores_of) for index, store in enumerate(own)):
            break
        time.sleep(0.5)
    (folder / "stop").touch()
    for process in listeners:
        os.waitpid(process, 0)


def misses(machine, folder, listeners):
    """What clients did not see, or saw twice, or in another order than its writer wrote it."""
    faults, commits = [], 0
    for name in range(listeners):
        for feed in json.loads((folder / f"{name}.seen").read_text()):
            store = pathlib.Path(feed["store"]).stem
            faults += feed["faults"][:3]
            there = {row[0] for row in rows(machine, store, "event")}
            counts = collections.Counter(feed["seen"])
            commits += len(feed["seen"])
            lost, twice = there - set(counts), [key for key, count in counts.items() if count > 1]
            if lost or twice:
                faults.append(f"{store}: {len(lost)} commits not seen {sorted(lost)[:3]}, {len(twice)} twice {twice[:3]}")
            last = {}
            for key in feed["seen"]:
                writer, _, number = key.partition("-")
                if writer.startswith("a") and int(number) < last.get(writer, 0):
                    faults.append(f"{store}: {key} was seen after {writer}-{last[writer]}")
                    break
                last[writer] = int(number)
    print(f"clients saw {commits} commits", flush=True)
    return faults


def growth(samples, options):
    """What has grown from the second quarter to the last one."""
    if options.seconds < 120:
        return []
    quarter = lambda part, column: statistics.median(
        [one[column] for one in samples if part <= one[0] / options.seconds * 4 < part + 1] or [0])
    faults = []
    for column, name, ratio, most in ((1, "MB of private memory", 1.25, 8), (2, "descriptors", 1.1, 8), (3, "MB of WAL", 1.5, 8)):
        before, after = quarter(1, column), quarter(3, column)
        peak = max(one[column] for one in samples)
        print(f"{name}: {before:.1f} in the second quarter, {after:.1f} in the last one, {peak:.1f} at most", flush=True)
        if after > before * ratio and after > before + most:
            faults.append(f"{name}: {before:.1f} have become {after:.1f}")
    return faults


def plot(samples, path, seconds):
    """Three lines over time, each in a band of its own."""
    width, height, parts = 900, 150, []
    for band, (column, name) in enumerate(((1, "private memory, MB"), (2, "descriptors"), (3, "WAL files, MB"))):
        top = max(one[column] for one in samples) or 1
        points = " ".join(
            f"{60 + one[0] / seconds * (width - 80):.1f},{band * height + height - 20 - one[column] / top * (height - 50):.1f}"
            for one in samples)
        base = band * height
        parts.append(
            f'<text x="60" y="{base + 20}">{name}</text><text x="4" y="{base + 34}">{top:.0f}</text>'
            f'<text x="4" y="{base + height - 16}">0</text>'
            f'<polyline fill="none" stroke="#2a6fb0" points="{points}"/>')
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{3 * height}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n')


def run(options, folder):
    first, second, stores = prepare(options, folder)
    children = []
    try:
        end = folder / "end"
        paths = [[machine.path(store) for store in stores] for machine in (first, second)]
        rate = options.rate
        followed = [first.path(stores[index % len(stores)]) for index in range(options.clients)]
        stores_of = [followed[start::5] for start in range(5)]
        listeners = [child(listen, first.socket, own, folder, name) for name, own in enumerate(stores_of)]
        children = list(listeners)
        while not all((folder / f"{name}.counts").exists() for name in range(len(stores_of))):
            time.sleep(0.1)
        writers = [child(write, paths[0], f"a{index}", rate, end, options.seed) for index in range(4)]
        writers.append(child(write, paths[1], "b0", rate / 4, end, options.seed))
        children += writers
        begin = time.monotonic()
        samples, faults = disturb((first, second), options, folder, begin)
        end.touch()
        for writer in writers:
            if os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) != 0:
                faults.append("a writer failed")
        children = listeners
        time.sleep(max(0, 21 - (time.monotonic() - begin - options.seconds)))  # remotes are back
        faults += settle((first, second), stores)
        unseen_paths = [[pathlib.Path(path).stem for path in own] for own in stores_of]
        unseen(first, listeners, folder, unseen_paths)
        children = []
        faults += misses(first, folder, len(listeners))
        faults += growth(samples, options)
        done = subprocess.run(
            [first.programs / "synctool", "doctor"], env=first.environment, capture_output=True, text=True)
        if done.returncode != 0:
            faults.append(f"doctor: {done.returncode}: {(done.stdout + done.stderr)[-400:]}")
        if options.samples:
            lines = ["seconds,private_mb,descriptors,wal_mb"] + [",".join(f"{x:.1f}" for x in one) for one in samples]
            options.samples.write_text("\n".join(lines) + "\n")
        if options.plot:
            plot(samples, options.plot, options.seconds)
        return faults
    finally:
        for process in children:
            os.kill(process, signal.SIGKILL)
        for machine in (first, second):
            if machine.daemon.poll() is None:
                machine.daemon.kill()
                machine.daemon.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--other", type=pathlib.Path, help="the programs of another version, for upgrades")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--stores", type=int, default=20)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rate", type=float, default=10, help="commits a second of one writer process")
    parser.add_argument("--every", type=float, default=12, help="seconds between events, on average")
    parser.add_argument("--settle", type=float, default=5, help="seconds before the first event")
    parser.add_argument("--samples", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="week."))
    faults = ["the run did not end"]
    try:
        faults = run(options, folder)
    finally:
        if faults:
            print(f"kept: {folder}", flush=True)
        else:
            shutil.rmtree(folder)
    for fault in faults:
        print(fault)
    print("no fault found" if not faults else f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
