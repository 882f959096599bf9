#!/usr/bin/env python3
"""pull_wait.py PROGRAMS [ROWS [TRANSACTION_ROWS [PUSHES]]]: how long a writer waits while `synctool pull` merges.

PROGRAMS is the folder of synctool; ROWS (100,000) rows are written in transactions of TRANSACTION_ROWS (10), and sent
by PUSHES (1) pushes. While
the other replica pulls them, a program commits a row in its store every two milliseconds, and another one in a
database of its own on the same disk: what the disk costs anyway. Prints the waits of both from BEGIN IMMEDIATE to
COMMIT's return, and the time and memory of the pull. The last column is the greatest.
"""
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

BATCH = "INSERT INTO item(title, number, price, body) VALUES (?, ?, ?, ?)"


def connect(path):
    connection = sqlite3.connect(path, timeout=120, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def synctool(programs, *arguments):
    subprocess.run([programs / "synctool", *arguments], check=True, stdout=subprocess.DEVNULL)


class Writer(threading.Thread):
    """Commits a row every two milliseconds until it is stopped, and keeps what each took, in milliseconds."""

    def __init__(self, path):
        super().__init__()
        self.connection, self.waits, self.is_stopped = connect(path), [], threading.Event()

    def run(self):
        while not self.is_stopped.wait(0.002):
            begin = time.monotonic()
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.execute("UPDATE visit SET count = count + 1 WHERE id = 1")
            self.connection.execute("COMMIT")
            self.waits.append((time.monotonic() - begin) * 1000)

    def text(self):
        waits = sorted(self.waits)
        places = [waits[min(len(waits) - 1, int(len(waits) * share))] for share in (0.5, 0.99, 0.999, 1)]
        return f"{len(waits)} commits: p50 {places[0]:.2f}, p99 {places[1]:.1f}, p99.9 {places[2]:.1f}, " \
               f"longest {places[3]:.1f} ms"


def measure(programs, rows, size, pushes, folder):
    first, second, bare = (f"{folder}/{name}.db" for name in ("first", "second", "bare"))
    for path in (first, bare):
        connection = connect(path)
        connection.executescript("""
            PRAGMA journal_mode = WAL;
            CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, number INTEGER, price REAL, body BLOB);
            CREATE TABLE visit(id INTEGER PRIMARY KEY, count INTEGER);
            INSERT INTO visit VALUES (1, 0);""")
        connection.close()
    os.mkdir(f"{folder}/remote")
    synctool(programs, "track", first, "--direct")
    synctool(programs, "remote", "add", first, "origin", f"dir:{folder}/remote")
    synctool(programs, "push", first)
    synctool(programs, "clone", f"dir:{folder}/remote", second)
    connection = connect(first)
    for start in range(0, rows, size):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(BATCH, (
            (f"title {number}", number, number / 7, bytes(64))
            for number in range(start, min(start + size, rows))))
        connection.execute("COMMIT")
        if start * pushes // rows != (start + size) * pushes // rows and start + size < rows:
            synctool(programs, "push", first)
    connection.close()
    synctool(programs, "push", first)
    writers = [Writer(second), Writer(bare)]
    for writer in writers:
        writer.start()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    try:
        synctool(programs, "pull", second)
        took = time.monotonic() - begin
    finally:
        for writer in writers:
            writer.is_stopped.set()
            writer.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    count = writers[0].connection.execute("SELECT count(*) FROM item").fetchone()[0]
    if count != rows:
        raise AssertionError(f"{count} rows arrived of {rows}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"pull of {rows} rows in transactions of {size}, pushes {pushes}: {took:.1f} s, {processor:.1f} s of processor time, "
          f"{after.ru_maxrss / 1024:.0f} MB at most (of all commands)")
    print("  beside the pull:     ", writers[0].text())
    print("  in a bare database:  ", writers[1].text())


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    numbers = [int(argument) for argument in arguments[1:]]
    rows, size, pushes = (numbers + [100_000, 10, 1][len(numbers):])[:3]
    folder = tempfile.mkdtemp(prefix="syncd-wait-")
    try:
        os.environ["SYNCD_SOCKET"] = folder + "/none.sock"
        measure(pathlib.Path(arguments[0]).resolve(), rows, size, pushes, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
