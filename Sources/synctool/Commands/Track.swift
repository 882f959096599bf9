import ArgumentParser
import SyncClient
import SyncCore
import SyncReplica

/// `synctool track DB`
struct Track: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Start recording the history of a database.",
        discussion: """
            Adds a log and triggers to the database. Its own tables are not altered, and writers \
            need no change. Prints for each table whether it is tracked, or why not. synctool \
            untrack DB removes everything again.

            In WAL mode the daemon tells every commit apart. In the rollback journal modes (DELETE \
            is the default of SQLite), commits that follow each other within milliseconds may be \
            recorded as one, with the flag 'coalesced'. --wal changes the database to WAL mode, \
            for all programs that use it.
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Option(help: ArgumentHelp("Track only this table; may be repeated.", valueName: "name"))
    var entity: [String] = []

    @Option(
        help: ArgumentHelp(
            "Keep the old values of updates of this table, for revert; '*' for all tables; may be "
                + "repeated.",
            valueName: "name"))
    var undo: [String] = []

    @Flag(help: "Do not keep the values of deleted rows.")
    var noTombstones = false

    @Flag(help: "Change the database to WAL mode first.")
    var wal = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    mutating func run() async throws {
        if wal { try Store.useWal(StorePath.absolute(path)) }
        let store = try await Access.open(path, using: access, for: .tracking)
        let choice = CaptureChoice(entities: entity, undo: undo, keepsValues: !noTombstones)
        // SQLite's internal tables are not reported.
        let outcome = try await ProgressLine.during("track") { try await store.track(choice) }
        let tables = outcome.tables.filter { !$0.name.hasPrefix("sqlite_") }
        for line in outcome.repaired {
            let line = TypedPath(path).fillingIn(line)
            try Terminal.error.line("\(path): repaired: \(line)")
        }
        if output.isJSON {
            for table in tables { try Terminal.output.json(table.jsonObject) }
            return try requireTracked(tables)
        }
        for line in TableText.lines(tables) { try Terminal.output.line(line) }
        try requireTracked(tables)
        let count = tables.count { $0.isTracked }
        try Terminal.output.line(
            "\(path): \(Plural.text(count, of: "table")) tracked."
                + " To see changes: synctool watch \(Shell.quoted(path))")
        // A file that only the daemon may read is left out.
        for rows in (try? Store.nullKeys(StorePath.absolute(path))) ?? [] {
            try Terminal.output.line(
                "  not recorded: \(Plural.text(rows.count, of: "row")) of "
                    + "\(Printable.text(rows.table)) with NULL in the primary key")
        }
        for table in (try? Store.unmergedTables(StorePath.absolute(path))) ?? [] {
            try Terminal.output.line(
                "  recorded, but cannot be synchronised: \(Printable.text(table.name)): "
                    + "\(Printable.text(table.reason)); to synchronise it, change its foreign keys")
        }
        if let line = UndeclaredText(path: path, isLate: false).line {
            try Terminal.output.line(line)
        }
        guard (try? Store.isWal(StorePath.absolute(path))) == false else { return }
        try Terminal.output.line(
            "  It is not in WAL mode: commits within milliseconds of each other may be recorded as "
                + "one. To change it: synctool track \(Shell.quoted(path)) --wal")
    }

    /// - Throws: `cannotTrack` when nothing is tracked, or a table that was asked for is not.
    private func requireTracked(_ tables: [TableSummary]) throws {
        let asked = tables.filter { table in
            !table.isTracked && entity.contains { $0.lowercased() == table.name.lowercased() }
        }
        if let table = asked.first {
            throw SyncError(
                .cannotTrack, "\(table.name) is not tracked: \(table.reason ?? "unknown reason")",
                path: path, hint: "List the tables and why they are skipped: synctool track DB")
        }
        guard !tables.contains(where: \.isTracked) else { return }
        throw SyncError(
            .cannotTrack,
            tables.isEmpty
                ? "the database has no tables" : "no table of the database can be tracked",
            path: path,
            hint: "Create a table with a PRIMARY KEY, then run: synctool track DB;"
                + " to remove what was added: synctool untrack DB")
    }
}
