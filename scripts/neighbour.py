#!/usr/bin/env python3
"""neighbour.py [OPTION]...: how often a program that waits for no lock is refused beside the daemon.

One writer with a busy timeout of 0 writes, pauses, reads, pauses, for --rounds rounds; a line for each
combination of --modes and --pauses says how many of its writes and reads were refused ("database is locked")
with the daemon and, at the same time, --direct readers that ask for the history again and again. The same
without a daemon is the line before it: what the disk and SQLite do on their own.
"""

import argparse
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

SCHEMA = "CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT); INSERT INTO Album VALUES (1, 'a');"


def pause(milliseconds):
    time.sleep(random.uniform(0, 0.3) if milliseconds == "random" else int(milliseconds) / 1000)


def play(path, rounds, milliseconds):
    """The refused writes and reads."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    writes = reads = 0
    for number in range(rounds):
        pause(milliseconds)
        try:
            connection.execute("UPDATE Album SET Title = ? WHERE AlbumId = 1", (str(number),))
        except sqlite3.OperationalError:
            writes += 1
        pause(milliseconds)
        try:
            connection.execute("SELECT count(*) FROM Album").fetchall()
        except sqlite3.OperationalError:
            reads += 1
    connection.close()
    return writes, reads


def check(daemon, path):
    """Figures of a daemon that ended, or of a database that it does not follow, say nothing."""
    with sqlite3.connect(path, timeout=10) as connection:
        isFollowed = connection.execute("SELECT max(seq) > 0 FROM syncd_log").fetchone()[0]
    if daemon.poll() is not None or not isFollowed:
        raise SystemExit("the daemon did not follow the database")


def measure(programs, mode, milliseconds, rounds, readers, isTracked):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "music.db")
        connection = sqlite3.connect(path)
        connection.executescript(f"PRAGMA journal_mode = {mode}; {SCHEMA}")
        connection.close()
        if not isTracked:
            return play(path, rounds, milliseconds)
        configuration = os.path.join(folder, "syncd.yaml")
        pathlib.Path(configuration).write_text(f"stores:\n- {{path: {path}, track: true}}\n")
        socket = os.path.join(folder, "s")
        daemon = subprocess.Popen(
            [programs / "syncd", "--user", "--socket", socket, "--state", folder + "/state", "--config",
             configuration, "--log", "error"])
        tool = [programs / "synctool", "history", path, "--direct", "--limit", "1"]
        isDone, threads = threading.Event(), []

        def ask():
            while not isDone.is_set():
                subprocess.run(tool, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

        try:
            while not os.path.exists(socket):
                time.sleep(0.01)
            threads = [threading.Thread(target=ask) for _ in range(readers)]
            for thread in threads:
                thread.start()
            refused = play(path, rounds, milliseconds)
            check(daemon, path)
            return refused
        finally:
            isDone.set()
            for thread in threads:
                thread.join()
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path(".build/debug"))
    parser.add_argument("--modes", nargs="+", default=["DELETE", "WAL"])
    parser.add_argument("--pauses", nargs="+", default=["200", "random"], help="milliseconds, or random")
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--direct", type=int, default=0, help="readers that go past the daemon")
    parser.add_argument("--alone", action="store_true", help="without a daemon, too")
    arguments = parser.parse_args()
    for mode in arguments.modes:
        for milliseconds in arguments.pauses:
            for isTracked in [False, True] if arguments.alone else [True]:
                writes, reads = measure(
                    arguments.programs, mode, milliseconds, arguments.rounds, arguments.direct, isTracked)
                beside = f"beside syncd, {arguments.direct} direct readers" if isTracked else "alone"
                print(
                    f"{mode}, pause {milliseconds} ms, {beside}: of {arguments.rounds} each, "
                    f"{writes} writes and {reads} reads refused", flush=True)


if __name__ == "__main__":
    main()
