#!/usr/bin/env python3
"""command_cost.py PROGRAMS [ROWS]: whole commands of synctool beside the same rows through `sqlite3 .dump | sqlite3`.

PROGRAMS is the folder of synctool. Processor time of the command with its children, memory at its highest, and the
file; ROWS (100,000 unless given) rows of six columns with an index. Updates are beside `UPDATE` statements as text,
a hundred in a transaction. The floors are of the same run.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCHEMA = """
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customer(id), note TEXT,
  price REAL, quantity INTEGER, day TEXT);
CREATE INDEX orders_day ON orders(day);
INSERT INTO customer(name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
  SELECT 'customer ' || i FROM n;
INSERT INTO orders(customer, note, price, quantity, day)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
  SELECT i % 100 + 1, 'order number ' || i || ' of this shop', i * 0.25, i % 12, date('2020-01-01', i % 2000 || ' days')
  FROM n;
"""


class Commands:
    def __init__(self, programs, folder):
        self.synctool = str(pathlib.Path(programs).resolve() / "synctool")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder,
            "XDG_CONFIG_HOME": folder, "SYNCD_SOCKET": folder + "/none.sock"}

    def run(self, *command, read=None):
        """Seconds of processor time, and megabytes at the highest."""
        with open(read or os.devnull, "rb") as given, tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, env=self.environment, stdin=given, stdout=said, stderr=said)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                said.seek(0)
                raise OSError(f"{command}: {said.read().decode()}")
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000

    def tool(self, *arguments):
        return self.run(self.synctool, *arguments)


def report(name, taken, floor, file=None):
    size = f", file {os.path.getsize(file) / 1e6:.1f} MB" if file else ""
    print(f"{name:34} {taken[0]:7.2f} s {taken[0] / floor:6.2f} x {taken[1]:6.0f} MB{size}", flush=True)


def measure(programs, rows, folder):
    commands = Commands(programs, folder)
    plain, ours, theirs = (f"{folder}/{name}.db" for name in ("plain", "ours", "theirs"))
    os.mkdir(folder + "/remote")
    remote = f"dir:{folder}/remote"
    subprocess.run(["sqlite3", plain], input=SCHEMA.format(rows=rows), text=True, check=True)
    shutil.copy(plain, ours)
    dumped = commands.run("sh", "-c", f"sqlite3 '{plain}' .dump | sqlite3 '{folder}/copy.db'")[0]
    print(f"{rows} rows, file {os.path.getsize(plain) / 1e6:.1f} MB; .dump | sqlite3: {dumped:.2f} s")
    commands.tool("track", ours)
    added = commands.tool("remote", "add", ours, "far", remote)
    pushed = commands.tool("push", ours)
    report("remote add and first push", (added[0] + pushed[0], max(added[1], pushed[1])), dumped, ours)
    report("clone", commands.tool("clone", remote, theirs), dumped, theirs)

    changes = pathlib.Path(folder) / "changes.sql"
    with open(changes, "w") as text:
        for first in range(1, rows + 1, 100):
            text.write("BEGIN;\n")
            for number in range(first, min(first + 100, rows + 1)):
                text.write(f"UPDATE orders SET price = {number * 0.5}, note = 'changed {number}' WHERE id = {number};\n")
            text.write("COMMIT;\n")
    written = commands.run("sqlite3", plain, read=changes)[0]
    print(f"an update of every row as SQL text: {written:.2f} s")
    report("the same in a store", commands.run("sqlite3", ours, read=changes), written)
    report("push", commands.tool("push", ours), written, ours)
    report("pull", commands.tool("pull", theirs), written, theirs)
    for path in (ours, theirs):
        left = subprocess.run(["sqlite3", path, "SELECT count(*), total(price) FROM orders"],
                              capture_output=True, text=True, check=True).stdout
        expected = subprocess.run(["sqlite3", plain, "SELECT count(*), total(price) FROM orders"],
                                  capture_output=True, text=True, check=True).stdout
        if left != expected:
            raise AssertionError(f"{path}: {left}, not {expected}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = tempfile.mkdtemp(prefix="syncd-commands-")
    try:
        measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 100_000, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
