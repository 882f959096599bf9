import ArgumentParser
import SyncCore

/// `synctool revert DB NUMBER`
struct Revert: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Undo a transaction with a new one.",
        discussion: """
            Deletes inserted objects, restores deleted ones, and restores the old values of \
            updates where they are kept (synctool track --undo). An object or property that a \
            later transaction changed or refers to is not changed but reported; the exit status \
            is 1 then.

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(help: "The transaction's number, from synctool history.")
    var number: Int64

    @OptionGroup var output: OutputOptions
    var database: String? { path }

    mutating func run() async throws {
        let undo = try await ProgressLine.during("revert") {
            try Undo(path) { try $0.revert(number, author: Self.author) }
        }
        try UndoText(path: path, done: "reverted transaction \(number)")
            .print(undo, asJSON: output.isJSON)
        if !undo.report.isComplete { throw ExitCode(1) }
    }

    /// The author of the transactions that synctool writes.
    static let author = "synctool"
}
