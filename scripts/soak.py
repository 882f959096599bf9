#!/usr/bin/env python3
"""soak.py PROGRAMS SECONDS [--seed N] [--chinook FILE]: three replicas of four stores, random edits and kills.

PROGRAMS is the folder with syncd and synctool. Each replica has a daemon. For SECONDS, writers edit rows of
every table of each store at each replica, daemons are killed and started again, and `synctool sync` runs and is
killed beside them. Then, when everything is quiet, each store has to be the same on all replicas: rows (the
numbers of private keys aside), sums that were compared and agree, the same open conflicts, and a clean
integrity_check and foreign_key_check. Exits 1 when something differs or a daemon ended by itself; the folder is
kept then.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

REPLICAS = "abc"
QUIET_SECONDS_MAX = 180

# What the schemas of users have and tutorials have not.
SCHEMAS = {
    "library": """
        CREATE TABLE author(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE, email TEXT,
            deleted INTEGER NOT NULL DEFAULT 0);
        CREATE UNIQUE INDEX author_email ON author(lower(email)) WHERE deleted = 0;
        CREATE TABLE book(isbn TEXT PRIMARY KEY, title TEXT NOT NULL, 
            author INTEGER REFERENCES author(id) ON DELETE SET NULL, pages INTEGER CHECK (pages IS NULL OR pages > 0),
            long_title TEXT GENERATED ALWAYS AS (title || ' (' || isbn || ')') STORED);
        CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE NOCASE, color TEXT DEFAULT 'grey') WITHOUT ROWID;
        CREATE TABLE book_tag(isbn TEXT REFERENCES book ON DELETE CASCADE ON UPDATE CASCADE,
            tag TEXT REFERENCES tag ON DELETE CASCADE ON UPDATE CASCADE, note TEXT, PRIMARY KEY(isbn, tag));
        CREATE TABLE quote(id INTEGER PRIMARY KEY, isbn TEXT, tag TEXT, text TEXT,
            FOREIGN KEY(isbn, tag) REFERENCES book_tag(isbn, tag) ON DELETE SET NULL ON UPDATE CASCADE);
        CREATE TABLE shelf(id INTEGER PRIMARY KEY, label TEXT, inside INTEGER REFERENCES shelf(id) ON DELETE CASCADE);
        CREATE VIEW books_by_author AS
            SELECT a.name, count(*) AS books FROM author a JOIN book b ON b.author = a.id GROUP BY a.id;
        CREATE TABLE audit(id INTEGER PRIMARY KEY, what TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
        CREATE VIRTUAL TABLE book_text USING fts5(title, content='book', content_rowid='rowid');
        CREATE TRIGGER book_text_insert AFTER INSERT ON book BEGIN
            INSERT INTO book_text(rowid, title) VALUES (new.rowid, new.title); END;
        CREATE TRIGGER book_text_delete AFTER DELETE ON book BEGIN
            INSERT INTO book_text(book_text, rowid, title) VALUES ('delete', old.rowid, old.title); END;
        CREATE TRIGGER book_text_update AFTER UPDATE ON book BEGIN
            INSERT INTO book_text(book_text, rowid, title) VALUES ('delete', old.rowid, old.title);
            INSERT INTO book_text(rowid, title) VALUES (new.rowid, new.title); END;
        INSERT INTO author(name, email) VALUES ('Ann', 'ann@example.org'), ('Bob', 'bob@example.org');
        INSERT INTO book(isbn, title, author, pages) VALUES ('1', 'One', 1, 10), ('2', 'Two', 2, NULL);
        INSERT INTO tag(name) VALUES ('red'), ('blue');
        INSERT INTO book_tag VALUES ('1', 'red', NULL), ('2', 'blue', 'n');
        INSERT INTO quote(isbn, tag, text) VALUES ('1', 'red', 'q');
        INSERT INTO shelf(label, inside) VALUES ('hall', NULL), ('top', 1);""",
    "orders": """
        CREATE TABLE tenant(code TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
        CREATE TABLE customer(tenant TEXT NOT NULL REFERENCES tenant ON DELETE RESTRICT, number INTEGER NOT NULL, name TEXT,
            PRIMARY KEY(tenant, number));
        CREATE TABLE invoice(id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, customer INTEGER NOT NULL,
            state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'sent', 'paid')), total REAL,
            FOREIGN KEY(tenant, customer) REFERENCES customer(tenant, number) ON DELETE CASCADE);
        CREATE TABLE line(invoice INTEGER NOT NULL REFERENCES invoice(id) ON DELETE CASCADE, n INTEGER NOT NULL,
            what TEXT, price NUMERIC, PRIMARY KEY(invoice, n));
        CREATE TABLE shipment(id INTEGER PRIMARY KEY, invoice INTEGER, n INTEGER, state TEXT,
            FOREIGN KEY(invoice, n) REFERENCES line(invoice, n) ON DELETE SET NULL);
        CREATE TABLE setting(name TEXT PRIMARY KEY, value ANY,
            owner TEXT DEFAULT 'x' REFERENCES tenant ON DELETE SET DEFAULT) STRICT;
        CREATE INDEX line_what ON line(what);
        CREATE VIEW open_invoices AS SELECT * FROM invoice WHERE state <> 'paid';
        CREATE TRIGGER invoice_opened INSTEAD OF INSERT ON open_invoices BEGIN
            INSERT INTO invoice(tenant, customer, total) VALUES (new.tenant, new.customer, new.total); END;
        INSERT INTO tenant VALUES ('x', 'X'), ('y', 'Y');
        INSERT INTO customer VALUES ('x', 1, 'one'), ('y', 1, 'two');
        INSERT INTO invoice(tenant, customer, total) VALUES ('x', 1, 1.5), ('y', 1, 2);
        INSERT INTO line VALUES (1, 1, 'pen', 1), (2, 1, 'ink', 2);
        INSERT INTO shipment(invoice, n, state) VALUES (1, 1, 'new');
        INSERT INTO setting VALUES ('a', 1, 'x');""",
    "notes": """
        PRAGMA user_version = 7;
        CREATE TABLE folder(id BLOB PRIMARY KEY DEFAULT (randomblob(8)), name TEXT,
            parent BLOB REFERENCES folder(id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TABLE note(id INTEGER PRIMARY KEY, folder BLOB REFERENCES folder(id) ON DELETE SET NULL, title TEXT,
            body TEXT, position INTEGER, UNIQUE(folder, position));
        CREATE TABLE link(source INTEGER REFERENCES note(id) ON DELETE CASCADE,
            target INTEGER REFERENCES note(id) ON DELETE CASCADE, kind TEXT, PRIMARY KEY(source, target)) WITHOUT ROWID;
        INSERT INTO folder(name) VALUES ('home'), ('work');
        INSERT INTO note(title, body) VALUES ('first', 'a'), ('second', 'b');
        INSERT INTO link VALUES (1, 2, 'see');""",
}


class Replica:
    """A machine: a home, a daemon, and a copy of each store."""

    def __init__(self, programs, folder, name):
        self.programs, self.folder, self.name = programs, folder, name
        self.home = folder / ("home-" + name)
        self.home.mkdir()
        self.environment = dict(os.environ, HOME=str(self.home), SYNCD_SOCKET=str(self.home / "syncd.sock"))
        for variable in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
            self.environment[variable] = str(self.home)
        self.log = open(folder / f"{name}.log", "ab")
        self.daemon = None

    def start(self):
        self.daemon = self.run("syncd", "--user")

    def run(self, program, *arguments):
        command = [self.programs / program, *map(str, arguments)]
        return subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)

    def path(self, store):
        return self.folder / f"{store}-{self.name}.db"

    def tool(self, *arguments, accepts=(0,)):
        command = [self.programs / "synctool", *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode not in accepts:
            raise SystemExit(f"{command}: status {done.returncode}\n{done.stderr}")
        return done.stdout

    def open(self, store):
        connection = sqlite3.connect(self.path(store), isolation_level=None, timeout=20)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


class Table:
    """What a writer has to know of a table."""

    def __init__(self, connection, name):
        self.name = name
        # cid, name, type, notnull, default, pk, hidden; generated columns are 2 and 3.
        rows = [row for row in connection.execute(f'PRAGMA table_xinfo("{name}")') if row[6] == 0]
        self.columns = [row[1] for row in rows]
        self.types = {row[1]: (row[2] or "").upper() for row in rows}
        self.key = [row[1] for row in sorted((row for row in rows if row[5]), key=lambda row: row[5])]
        self.isNumbered = len(self.key) == 1 and self.types[self.key[0]] == "INTEGER"
        self.references = {}
        for row in connection.execute(f'PRAGMA foreign_key_list("{name}")'):
            self.references.setdefault(row[0], [row[2], []])[1].append((row[3], row[4]))


class Writer:
    """Random transactions on a store, as any program writes them; constraints refuse what they refuse."""

    def __init__(self, random):
        self.random, self.written, self.refused = random, 0, 0

    def value(self, kind):
        number = self.random.randrange(1, 1000)
        if "INT" in kind:
            return self.random.choice([number, number, 0, None])
        if any(word in kind for word in ("REAL", "NUM", "DATE", "FLOA", "DOUB")):
            return self.random.choice([number / 4, number])
        if "BLOB" in kind:
            return self.random.randbytes(8)
        return self.random.choice([f"v{self.written}", f"v{number}", "new", "x", "émigré " + str(number)])

    def row(self, connection, table):
        values = {column: self.value(table.types[column]) for column in table.columns}
        for entity, pairs in table.references.values():
            key = [there for _, there in pairs]
            if None in key:
                key = [row[1] for row in connection.execute(f'PRAGMA table_xinfo("{entity}")') if row[5]]
            named = ", ".join(f'"{one}"' for one in key)
            target = connection.execute(f'SELECT {named} FROM "{entity}" ORDER BY random() LIMIT 1').fetchone()
            for (column, _), part in zip(pairs, target or [None] * len(pairs)):
                values[column] = part
        if table.isNumbered:
            values.pop(table.key[0], None)
        return values

    def statement(self, connection, tables):
        table = self.random.choice(tables)
        where = " AND ".join(f'"{column}" IS ?' for column in table.key)
        named = ", ".join(f'"{column}"' for column in table.key)
        kind = self.random.random()
        if kind < 0.4:
            values = self.row(connection, table)
            columns = ", ".join(f'"{column}"' for column in values)
            verb = self.random.choice(["INSERT", "INSERT", "INSERT", "INSERT OR IGNORE", "REPLACE"])
            marks = ", ".join("?" * len(values))
            connection.execute(f'{verb} INTO "{table.name}"({columns}) VALUES ({marks})', list(values.values()))
            return
        key = connection.execute(f'SELECT {named} FROM "{table.name}" ORDER BY random() LIMIT 1').fetchone()
        if key is None:
            return
        if kind < 0.9:
            values = self.row(connection, table)
            columns = [column for column in values if column not in table.key or self.random.random() < 0.1]
            if not columns:
                return
            column = self.random.choice(columns)
            connection.execute(f'UPDATE "{table.name}" SET "{column}" = ? WHERE {where}', [values[column], *key])
        elif connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0] > 3:
            connection.execute(f'DELETE FROM "{table.name}" WHERE {where}', key)

    def transaction(self, replica, store, tables):
        connection = replica.open(store)
        try:
            connection.execute("BEGIN IMMEDIATE")
            for _ in range(self.random.choice([1, 1, 2, 5])):
                self.written += 1
                try:
                    self.statement(connection, tables)
                except sqlite3.IntegrityError:
                    self.refused += 1
            connection.execute("COMMIT")
        except sqlite3.IntegrityError:
            self.refused += 1
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        finally:
            connection.close()


def image(connection, tables):
    """The rows of each table as hashes without private numbers: a reference counts by what its target is."""
    entities = {table.name.lower(): table for table in tables}
    rows, hashes = {}, {}
    for table in tables:
        columns = ", ".join(f'"{column}"' for column in table.columns)
        found = connection.execute(f'SELECT {columns} FROM "{table.name}"')
        rows[table.name] = [dict(zip(table.columns, row)) for row in found]

    def digest(*parts):
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]

    def folded(row, columns):
        return tuple(row[column].lower() if isinstance(row[column], str) else row[column] for column in columns)

    for depth in range(5):
        former, hashes = hashes, {}
        for table in tables:
            referring = {column for _, pairs in table.references.values() for column, _ in pairs}
            found = hashes[table.name] = {}
            for row in rows[table.name]:
                hidden = referring | (set(table.key) if table.isNumbered else set())
                plain = [(column, row[column]) for column in table.columns if column not in hidden]
                targets = []
                for entity, pairs in table.references.values():
                    target = folded(row, [column for column, _ in pairs])
                    other = entities.get(entity.lower())
                    if other:
                        target = None if None in target else former.get(other.name, {}).get(target)
                    targets.append(target)
                found[folded(row, table.key)] = digest(plain, targets)
    return {name: sorted(found.values()) for name, found in hashes.items()}


def tracked(replica, store):
    status = json.loads(replica.tool("status", replica.path(store), "--json"))
    names = [entity["name"] for entity in status["entities"] if entity["outcome"] == "tracked"]
    connection = replica.open(store)
    tables = [Table(connection, name) for name in names]
    connection.close()
    return tables


def compare(replicas, store, tables):
    """What differs between the replicas of a store."""
    images = []
    for replica in replicas:
        connection = replica.open(store)
        images.append(image(connection, tables))
        connection.close()
    first = images[0]
    return [f"{store}.{name}: {replica.name} differs from {replicas[0].name} ({len(one[name])} and {len(first[name])} rows)"
            for replica, one in zip(replicas[1:], images[1:]) for name in one if one[name] != first[name]]


def soundness(replica, store):
    """Faults of one replica of a store, and how many comparisons of sums it has made."""
    faults = []
    connection = replica.open(store)
    for check in ("integrity_check", "foreign_key_check"):
        rows = [row for row in connection.execute(f"PRAGMA {check}").fetchall() if row != ("ok",)]
        if rows:
            faults.append(f"{replica.path(store).name}: {check}: {rows[:3]}")
    connection.close()
    status = json.loads(replica.tool("status", replica.path(store), "--json"))
    comparisons = status.get("comparisons", [])
    for one in comparisons:
        if one["different"]:
            faults.append(f"{replica.path(store).name}: sums differ from {one['replica'][:8]} in {one['different']}")
    return faults, sum(one["count"] for one in comparisons)


def conflicts(replica, store):
    listed = map(json.loads, replica.tool("conflicts", replica.path(store), "--json").splitlines())
    return sorted(json.dumps([one.get("entity"), one.get("reason"), one.get("columns")]) for one in listed)


def prepare(programs, folder, chinook):
    replicas = [Replica(programs, folder, name) for name in REPLICAS]
    stores = {}
    first = replicas[0]
    for store in [*SCHEMAS, *(["chinook"] if chinook else [])]:
        if store == "chinook":
            shutil.copy(chinook, first.path(store))
        connection = first.open(store)
        connection.execute("PRAGMA journal_mode = WAL")
        if store in SCHEMAS:
            connection.executescript(SCHEMAS[store])
        connection.close()
        remote = folder / f"remote-{store}"
        remote.mkdir()
        first.tool("track", first.path(store))
        first.tool("remote", "add", first.path(store), "origin", f"dir:{remote}")
        first.tool("sync", first.path(store))
        for replica in replicas[1:]:
            replica.tool("clone", f"dir:{remote}", replica.path(store))
        stores[store] = tracked(first, store)
    for replica in replicas:
        replica.start()
        deadline = time.monotonic() + 30
        while not (replica.home / "syncd.sock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        for store in stores:
            replica.tool("track", replica.path(store))
    return replicas, stores


def disturb(replicas, stores, seconds, seed):
    """Edits and kills, for a time. How often daemons ended by themselves is a fault."""
    chance = random.Random(seed)
    writer, kills, faults, tools = Writer(chance), 0, [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for replica in replicas:
            if chance.random() < 0.6:
                store = chance.choice(list(stores))
                writer.transaction(replica, store, stores[store])
        if chance.random() < 0.04:
            replica = chance.choice(replicas)
            replica.daemon.kill()
            replica.daemon.wait()
            kills += 1
            time.sleep(chance.choice([0, 0.2, 2]))
            replica.start()
        if chance.random() < 0.05:
            replica = chance.choice(replicas)
            tools.append(replica.run("synctool", "sync", replica.path(chance.choice(list(stores)))))
        if tools and chance.random() < 0.1:
            one = tools.pop()
            kills += one.poll() is None
            one.kill()
            one.wait()
        for replica in replicas:
            if replica.daemon.poll() is not None:
                faults.append(f"the daemon of {replica.name} ended by itself: {replica.daemon.returncode}")
                replica.start()
        time.sleep(chance.choice([0.02, 0.1, 0.3]))
    for one in tools:
        one.wait()
    print(f"{writer.written} statements ({writer.refused} refused by constraints), {kills} kills", flush=True)
    return faults


def settle(replicas, stores):
    """Waits until all stores are equal; what still differs."""
    start = time.monotonic()
    while True:
        different = [line for store, tables in stores.items() for line in compare(replicas, store, tables)]
        if not different or time.monotonic() - start > QUIET_SECONDS_MAX:
            break
        time.sleep(0.5)
    print(f"equal after {time.monotonic() - start:.1f} s of quiet: {not different}", flush=True)
    for replica in replicas:
        replica.daemon.send_signal(signal.SIGTERM)
        replica.daemon.wait(60)
    # Sums are stated by an exchange and compared by the next one.
    for _ in range(3):
        for replica in replicas:
            for store in stores:
                replica.tool("sync", replica.path(store), accepts=(0, 1))
    return different


def examine(replicas, stores):
    faults = []
    for store, tables in stores.items():
        faults += compare(replicas, store, tables)
        counts = []
        for replica in replicas:
            found, count = soundness(replica, store)
            faults += found
            counts.append(count)
        if min(counts) == 0:
            faults.append(f"{store}: sums were never compared ({counts})")
        listed = [conflicts(replica, store) for replica in replicas]
        if any(one != listed[0] for one in listed):
            faults.append(f"{store}: open conflicts differ: {[len(one) for one in listed]}")
        rows = replicas[0].open(store)
        total = sum(rows.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0] for table in tables)
        rows.close()
        print(f"{store}: {total} rows, {len(listed[0])} open conflicts, comparisons of sums {counts}", flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--chinook", type=pathlib.Path, default=os.environ.get("SYNCD_CHINOOK"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="soak."))
    replicas, faults = [], ["the run did not end"]
    try:
        replicas, stores = prepare(options.programs.resolve(), folder, options.chinook)
        faults = disturb(replicas, stores, options.seconds, options.seed)
        faults += settle(replicas, stores)
        faults += examine(replicas, stores)
    finally:
        for replica in replicas:
            if replica.daemon and replica.daemon.poll() is None:
                replica.daemon.kill()
                replica.daemon.wait()
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
