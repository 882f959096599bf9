"""Puts every database of a process under syncd, while the program stays as it is.

`sqlite3.connect` is replaced: `:memory:` becomes a file, since only files can be tracked, and after each committed
CREATE, ALTER or DROP of the program the file is given to `synctool track` (once only where a daemon runs: the daemon
follows the schema by itself). The same replacement runs in mode `plain`, so that a suite that does not like it
fails in all modes.

Set by run.py: PEERS_MODE (plain, tracked, daemon), PEERS_CONNECT, PEERS_FILTER, PEERS_FOLDER, PEERS_SYNCTOOL, PEERS_SOCKET,
PEERS_LOG. Django has a back end of its own (peersdjango), so that PEERS_CONNECT is not set for it.
"""

import atexit
import contextlib
import functools
import os
import re
import shutil
import sqlite3
import sqlite3.dbapi2
import subprocess
import tempfile
import time
import urllib.parse

MODE = os.environ.get("PEERS_MODE", "plain")
HIDES_LISTINGS = os.environ.get("PEERS_FILTER") == "1"
FOLDER = os.environ.get("PEERS_FOLDER", tempfile.gettempdir())
SYNCTOOL_SECONDS_MAX = 120
SAID_MAX = 400
TRY_AGAIN = 75
ATTEMPTS_MAX = 10
EXAMINED_EVERY = 10

SCHEMA_CHANGE = re.compile(r"\b(create|alter|drop)\b", re.I)
TEMPORARY = re.compile(r"\s*create\s+temp", re.I)
SCHEMA_TABLE = re.compile(r"(?<![.\w])[\"\[]?sqlite_(master|schema)[\"\]]?(?![\w.(])", re.I)
OWN_OBJECTS_LEFT_OUT = (
    "(SELECT rowid, * FROM sqlite_master"
    " WHERE name NOT LIKE 'syncd!_%' ESCAPE '!' AND tbl_name NOT LIKE 'syncd!_%' ESCAPE '!')")

plain_connect = sqlite3.dbapi2.connect
followed = set()
tracked_files = set()
# By path: the schema that `track` has seen.
tracked_versions = {}
made_files = []


def synctool(command, path, *options):
    """Runs a command and writes what it said on stderr to the log that run.py reads."""
    where = ["--direct"] if MODE == "tracked" else ["--socket", os.environ["PEERS_SOCKET"]]
    began = time.monotonic()
    run = subprocess.run(
        [os.environ["PEERS_SYNCTOOL"], command, str(path), *options, *where],
        capture_output=True, text=True, errors="replace", timeout=SYNCTOOL_SECONDS_MAX)
    # A path need not be UTF-8.
    with open(os.environ["PEERS_LOG"], "a", errors="backslashreplace") as log:
        said = " ".join((run.stderr if command == "track" else run.stdout + run.stderr).split())[:SAID_MAX]
        log.write(f"{command}\t{run.returncode}\t{time.monotonic() - began:.2f}\t{path}\t{said}\n")
    return run.returncode


def track(path):
    """Tries again where synctool says so: status 75."""
    for _ in range(ATTEMPTS_MAX):
        status = synctool("track", path)
        if status != TRY_AGAIN:
            break
        time.sleep(0.2)
    return status == 0


def examine(path):
    """At the end of a database: it is intact, and its history equals its tables. A copy of one that is not is kept."""
    if MODE != "plain" and os.path.exists(path) and synctool("doctor", path, "--mend") != 0:
        shutil.copy(path, os.environ["PEERS_LOG"] + "." + os.path.basename(path))


def schema_version(path):
    """Changes with each CREATE, ALTER and DROP that does something; None where it cannot be read."""
    probe = plain_connect(path, timeout=0)
    try:
        return probe.execute("PRAGMA schema_version").fetchone()[0]
    except sqlite3.Error:
        return None
    finally:
        probe.close()


def is_busy(path):
    """Another connection of the program is within a transaction: `track` would wait for it in vain."""
    probe = plain_connect(path, timeout=0, isolation_level=None)
    try:
        probe.execute("BEGIN EXCLUSIVE")
        probe.execute("ROLLBACK")
        return False
    except sqlite3.Error:
        return True
    finally:
        probe.close()


def after_statement(connection):
    """Tracks the file once a schema change is committed."""
    path = getattr(connection, "peers_path", None)
    if MODE == "plain" or path is None or not getattr(connection, "peers_schema_changed", False):
        return
    try:
        if connection.in_transaction or path in followed:
            return
    except sqlite3.ProgrammingError:
        return
    version = schema_version(path) if os.path.exists(path) else None
    if version is not None and version == tracked_versions.get(path):
        connection.peers_schema_changed = False
    elif version is not None and not is_busy(path):
        connection.peers_schema_changed = False
        if track(path):
            tracked_files.add(path)
            if MODE == "daemon":
                followed.add(path)
        tracked_versions[path] = schema_version(path)


def before_statement(connection, sql):
    """Notes a schema change. Returns the statement, without syncd's objects in listings where that is wanted."""
    if not isinstance(sql, str):
        return sql
    if SCHEMA_CHANGE.search(sql) and not TEMPORARY.match(sql):
        connection.peers_schema_changed = True
    if HIDES_LISTINGS and re.match(r"\s*(select|with)\b", sql, re.I):
        return SCHEMA_TABLE.sub(OWN_OBJECTS_LEFT_OUT, sql)
    return sql


@contextlib.contextmanager
def naming_timeout(connection):
    """Adds the busy timeout to the message of a refusal: run.py judges one of 5 s otherwise than one of 0.1 s."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) and hasattr(error, "add_note"):
            error.add_note(f"busy timeout: {getattr(connection, 'peers_timeout', -1)} s")
        raise


@functools.cache
def watched_cursor(base):
    class Watched(base):
        def execute(self, sql, *arguments):
            with naming_timeout(self.connection):
                result = super().execute(before_statement(self.connection, sql), *arguments)
            after_statement(self.connection)
            return result

        def executescript(self, sql, *arguments):
            before_statement(self.connection, sql)
            with naming_timeout(self.connection):
                result = super().executescript(sql, *arguments)
            after_statement(self.connection)
            return result

    return named_like(Watched, base)


@functools.cache
def watched_connection(base):
    class Watched(base):
        def cursor(self, factory=sqlite3.Cursor, **named):
            factory = named.get("factory", factory)
            if isinstance(factory, type) and issubclass(factory, sqlite3.Cursor):
                factory = watched_cursor(factory)
            return super().cursor(factory)

        def commit(self):
            with naming_timeout(self):
                super().commit()
            after_statement(self)

        def execute(self, *arguments):
            return self.cursor().execute(*arguments)

        def executescript(self, *arguments):
            return self.cursor().executescript(*arguments)

        def __exit__(self, *arguments):
            with naming_timeout(self):
                result = super().__exit__(*arguments)
            after_statement(self)
            return result

    return named_like(Watched, base)


def named_like(made, base):
    made.__name__, made.__qualname__, made.__module__ = (
        base.__name__, base.__qualname__, base.__module__)
    return made


def file_path(database, is_uri):
    """The absolute path of a database file; None for one that cannot be tracked: in memory, temporary, read only."""
    path = os.fsdecode(database)
    if is_uri and path.startswith("file:"):
        parts = urllib.parse.urlparse(path)
        if "memory" in parts.query or "mode=ro" in parts.query or "immutable" in parts.query:
            return None
        path = urllib.parse.unquote(parts.path)
    return None if path in ("", ":memory:") else os.path.abspath(path)


def connect(database, *arguments, **named):
    # The position of `factory` in sqlite3.connect, counted after `database`.
    position = 4
    base = named.pop("factory", None) if len(arguments) <= position else arguments[position]
    base = base or sqlite3.Connection
    factory = base
    if isinstance(base, type) and issubclass(base, sqlite3.Connection):
        factory = watched_connection(base)
    if len(arguments) > position:
        arguments = arguments[:position] + (factory,) + arguments[position + 1:]
    else:
        named["factory"] = factory
    in_memory = database in (":memory:", b":memory:")
    if in_memory:
        descriptor, database = tempfile.mkstemp(suffix=".db", dir=FOLDER)
        os.close(descriptor)
        made_files.append(database)
    connection = plain_connect(database, *arguments, **named)
    try:
        connection.peers_timeout = named.get("timeout", arguments[0] if arguments else 5.0)
        connection.peers_path = file_path(database, named.get("uri", False))
        if in_memory:
            connection.execute("PRAGMA synchronous = OFF")
    except (AttributeError, sqlite3.Error):
        pass
    return connection


def install():
    if os.environ.get("PEERS_CONNECT") == "1":
        sqlite3.connect = sqlite3.dbapi2.connect = connect
        atexit.register(remove_made_files)


def remove_made_files():
    """Examines one of ten before: starting a process for each takes longer than the tests."""
    for number, path in enumerate(made_files):
        if path in tracked_files and number % EXAMINED_EVERY == 0:
            examine(path)
        for suffix in ("", "-journal", "-wal", "-shm"):
            try:
                os.remove(path + suffix)
            except OSError:
                pass
