import ArgumentParser
import SyncCore

/// `synctool revert DB NUMBER`
struct Revert: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Undo a transaction as a new one, property by property.",
        discussion: """
            Inserted objects are deleted, deleted ones come back, changed properties get their old \
            values where they are kept (synctool track --undo). What later transactions changed \
            again or refers to stays as it is and is named; the exit status is 1 then.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Argument(help: "The transaction's number, as history prints it.")
    var number: Int64

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    mutating func run() async throws {
        // Always on the file: a running daemon sees the new transaction like any other writer's.
        let store = try Store.open(StorePath.absolute(path))
        defer { try? store.close() }
        let report = try store.revert(number, author: Self.author)
        try UndoText(path: path, done: "reverted \(number)").print(report, common)
        if !report.isComplete { throw ExitCode(1) }
    }

    /// Whom history names for what the command line undoes.
    static let author = "synctool"
}

/// `synctool restore DB OBJECT`
struct Restore: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring a deleted object back from its tombstone.",
        discussion: """
            With the relations that still exist, and with what its delete took along by cascade. \
            What does not come back is named; the exit status is 1 then.

            Example: synctool restore music.db Album/348
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Argument(help: ArgumentHelp("The object, as history prints it.", valueName: "entity/key"))
    var object: String

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    mutating func run() async throws {
        let name = try HistoryQuery.ObjectName(path: object)
        let store = try Store.open(StorePath.absolute(path))
        defer { try? store.close() }
        let report = try store.restore(name, author: Revert.author)
        try UndoText(path: path, done: "restored \(object)").print(report, common)
        if !report.isComplete { throw ExitCode(1) }
    }
}
