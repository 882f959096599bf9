import Foundation

/// Three writers that never end by themselves. Each commit of one leaves a trace that says whether
/// it happened whole, once, and after which other.
///
/// `shell` and `python` count: commit n of one sets its counter to n, inserts the entry n, marks the
/// entry n - 5 and deletes the entry n - 20. `bulk` replaces all its rows by new ones, in
/// transactions that spill into the WAL long before they commit.
enum LedgerWriters {
    static let bulkRows = 300

    static let schema = """
        CREATE TABLE counter(w TEXT PRIMARY KEY, n INTEGER);
        INSERT INTO counter VALUES ('shell', 0), ('python', 0);
        CREATE TABLE entry(w TEXT, n INTEGER, note TEXT, PRIMARY KEY(w, n)) WITHOUT ROWID;
        CREATE TABLE bulk(id INTEGER PRIMARY KEY AUTOINCREMENT, pad TEXT, mark BLOB UNIQUE);
        """

    private static func statements(_ writer: String) -> [String] {
        let n = "(SELECT n FROM counter WHERE w = '\(writer)')"
        return [
            "BEGIN IMMEDIATE",
            "UPDATE counter SET n = n + 1 WHERE w = '\(writer)'",
            "INSERT INTO entry VALUES ('\(writer)', \(n), 'new')",
            "UPDATE entry SET note = 'old' WHERE w = '\(writer)' AND n = \(n) - 5",
            "DELETE FROM entry WHERE w = '\(writer)' AND n = \(n) - 20",
            "COMMIT",
        ]
    }

    /// The `sqlite3` shell with a script that lasts longer than any round.
    static func startShell(_ scene: Scene, _ database: String) throws -> Child {
        let script = scene.folder.path("shell.sql")
        if !FileManager.default.fileExists(atPath: script) {
            let one = statements("shell").joined(separator: ";\n") + ";\n"
            // What a killed process wrote is not lost: only a power cut asks for syncs.
            let text =
                ".timeout 20000\nPRAGMA synchronous = OFF;\n" + String(repeating: one, count: 5_000)
            try text.write(toFile: script, atomically: true, encoding: .utf8)
        }
        return try scene.start(Binaries.sqlite3, database, ".read \(script)")
    }

    static func startPython(_ scene: Scene, _ database: String) throws -> Child {
        let script = """
            import sqlite3, sys, time
            connection = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            while True:
                for sql in sys.argv[2:]:
                    connection.execute(sql)
                time.sleep(0.002)
            """
        return try scene.start(
            Binaries.plainPython, ["-c", script, database] + statements("python"))
    }

    static func startBulk(_ scene: Scene, _ database: String) throws -> Child {
        let script = """
            import os, sqlite3, sys, time
            connection = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
            connection.execute("PRAGMA cache_size = 5")
            connection.execute("PRAGMA synchronous = OFF")
            while True:
                connection.execute("BEGIN IMMEDIATE")
                last = connection.execute("SELECT coalesce(max(id), 0) FROM bulk").fetchone()[0]
                for row in range(\(bulkRows)):
                    connection.execute("INSERT INTO bulk(pad, mark) VALUES (?, ?)",
                                       ("x" * 100, os.urandom(16)))
                connection.execute("DELETE FROM bulk WHERE id <= ?", (last,))
                connection.execute("COMMIT")
                time.sleep(0.03)
            """
        return try scene.start(Binaries.plainPython, "-c", script, database)
    }
}
