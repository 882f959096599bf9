import Foundation
import SyncClient
import SyncMerge
import Testing

/// Other programs change tables, with the daemon there and not there.
@Suite(.timeLimit(.minutes(3))) struct SchemaChangeTests {
    private let rebuild = [
        "CREATE TABLE Made(AlbumId INTEGER PRIMARY KEY, Title TEXT, ArtistId INTEGER, Year INTEGER)",
        "INSERT INTO Made(AlbumId, Title, ArtistId) SELECT AlbumId, Title, ArtistId FROM Album",
        "DROP TABLE Album",
        "ALTER TABLE Made RENAME TO Album",
        "DELETE FROM Album WHERE AlbumId = 1",
        "UPDATE Album SET Title = 'other' WHERE AlbumId = 2",
        "INSERT INTO Album(AlbumId, Title) VALUES (77, 'new')",
    ]

    /// What of the objects is told, whatever the number of transactions.
    private func told(_ seen: Collector) -> Set<String> {
        Set(seen.transactions.flatMap(\.changes).map { "\($0.kind.name) \($0.object.path)" })
    }

    @Test(arguments: [true, false]) func aRebuiltTableLosesNothing(isRunning: Bool) async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        // Fingerprints are taken when it is quiet.
        try await eventually("fingerprints") {
            try sqlite3(store, "SELECT count(*) FROM syncd_lineage") == "2"
                && sqlite3(
                    store,
                    """
                    SELECT coalesce(
                        (SELECT value FROM syncd_meta WHERE key = 'fingerprinted'), 0)
                      >= (SELECT coalesce(max(seq), 0) FROM syncd_log)
                    """) == "1"
        }
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        if !isRunning { daemon.kill9() }
        try sqlite3(store, "BEGIN;" + rebuild.joined(separator: ";") + "; COMMIT")
        if !isRunning { try await daemon.start() }
        try await eventually("the three changes") {
            told(seen).isSuperset(of: [
                "delete Album/1", "update Album/2", "insert Album/77",
            ])
        }
        try sqlite3(store, "UPDATE Album SET Year = 1999 WHERE AlbumId = 3")
        try await eventually("goes on") {
            seen.transactions.last?.changes.map(\.properties) == [["Year"]]
        }
        #expect(seen.transactions.contains { $0.flags.contains(.recovered) })
    }

    /// Runs Python statements with `c`, a connection to the store with a busy timeout of 5 s.
    private func python(_ store: String, _ statements: String) throws -> Ended {
        let start = """
            import sqlite3, sys, time
            c = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)

            """
        return try run("/usr/bin/python3", ["-c", start + statements, store])
    }

    private func isTracked(_ table: String, in store: String) throws -> Bool {
        try sqlite3(
            store,
            "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '\(table)'"
        ) == "1"
    }

    /// The daemon cannot write the triggers while a program has the lock for long: it tries again.
    @Test func aTableMadeBeforeALongTransactionIsTracked() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        // Longer than any connection of the daemon waits for a lock.
        let ended = try python(
            store,
            """
            c.execute("CREATE TABLE Label(LabelId INTEGER PRIMARY KEY, Name TEXT)")
            c.execute("BEGIN IMMEDIATE")
            time.sleep(7)
            c.execute("INSERT INTO Label VALUES (1, 'blue')")
            c.execute("COMMIT")
            """)
        #expect(ended.status == 0, "\(ended.errors)")
        try await eventually("the new table") { told(seen).contains("insert Label/1") }
        #expect(try isTracked("Label", in: store))
    }

    /// SQLite refuses a reader that turns writer while another connection has the write lock,
    /// whatever its busy timeout. The daemon keeps away from a program that is within a transaction.
    @Test func aReaderThatTurnsWriterAfterASchemaChangeIsNotRefused() async throws {
        let daemon = try await TestDaemon()
        let store = daemon.directory.file("rollback.db")
        try sqlite3(store, "CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT)")
        _ = try await daemon.client.track(store)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let ended = try python(
            store,
            """
            for n in range(4):
                c.execute(f"CREATE TABLE Made{n}(id INTEGER PRIMARY KEY, x)")
                c.execute("BEGIN")
                c.execute("SELECT count(*) FROM Album").fetchall()
                time.sleep(0.4)
                c.execute(f"INSERT INTO Made{n} VALUES (1, 2)")
                c.execute("COMMIT")
            """)
        #expect(ended.status == 0, "\(ended.errors)")
        for number in 0..<4 {
            let table = "Made\(number)"
            try await eventually(table) { told(seen).contains("insert \(table)/1") }
            #expect(try isTracked(table, in: store))
        }
    }

    /// Only its application knows how its keys compare: SQLite reads no row of it in the daemon.
    @Test func aTableThatCannotBeReadKeepsNoOtherFromItsTriggers() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        let collation = """
            def order(a, b): return (a.lower() > b.lower()) - (a.lower() < b.lower())
            c.create_collation("unicase", order)
            def rebuild(name, columns, values="*"):
                c.execute(f"CREATE TABLE made({columns})")
                c.execute(f"INSERT INTO made SELECT {values} FROM {name}")
                c.execute(f"DROP TABLE {name}")
                c.execute(f"ALTER TABLE made RENAME TO {name}")

            """
        let columns = "tag TEXT PRIMARY KEY COLLATE unicase, usn INTEGER) WITHOUT ROWID --"
        let made = try python(store, collation + "c.execute('CREATE TABLE tags(\(columns))')")
        #expect(made.status == 0, "\(made.errors)")
        func tool(_ arguments: String...) throws -> Ended {
            try run(
                Programs.synctool.path, arguments, environment: ["SYNCD_SOCKET": daemon.socket])
        }
        let tracked = try tool("track", store)
        #expect(tracked.status == 0 && tracked.output.contains("unicase"), "\(tracked)")
        try await eventually("fingerprints of the others: \(daemon.log)") {
            try sqlite3(store, "SELECT count(*) FROM syncd_lineage") == "2"
        }
        let rebuilt = try python(
            store,
            collation + """
                c.execute("BEGIN")
                rebuild("tags", "\(columns)")
                rebuild("Album", "AlbumId INTEGER PRIMARY KEY, Title, ArtistId, Year", "*, NULL")
                c.execute("INSERT INTO Album VALUES (77, 'new', 1, NULL)")
                c.execute("INSERT INTO tags VALUES ('x', 1)")
                c.execute("COMMIT")
                """)
        #expect(rebuilt.status == 0, "\(rebuilt.errors)")
        for table in ["tags", "Album"] {
            try await eventually("the triggers of \(table): \(daemon.log)") {
                try isTracked(table, in: store)
            }
        }
        let words = "tags: syncd cannot read its rows (no such collation sequence: unicase)"
        try await eventually("it is named: \(daemon.log)") {
            let check = try tool("status", "--check")
            return check.status == 1 && check.output.contains(words)
        }
        #expect(try tool("status").output.contains(words))
        #expect(try tool("status", store).output.contains(words))
        let doctor = try tool("doctor")
        #expect(doctor.status == 1 && doctor.output.contains(words), "\(doctor)")
        let file = try tool("doctor", store)
        #expect(file.status == 1 && file.output.contains(words), "\(file)")
        try await eventually("the rest is told: \(daemon.log)") {
            try tool("history", store).output.contains("Album/77")
        }
        #expect(daemon.stop() == 0)
    }

    @Test func aQuietStoreIsWholeInItsMainFile() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        try sqlite3(store, "UPDATE Album SET Title = 'in the main file' WHERE AlbumId = 2")
        try await eventually("checkpoint") {
            let copy = daemon.directory.file("copy-\(UUID().uuidString).db")
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            let title = try? sqlite3(copy, "SELECT Title FROM Album WHERE AlbumId = 2")
            return title == "in the main file"
        }
    }
}
