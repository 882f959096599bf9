import ArgumentParser
import SyncCore

/// `synctool restore DB OBJECT`
struct Restore: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Restore a deleted object.",
        discussion: """
            Restores the object from the values kept at its delete, its references to objects \
            that still exist, and the objects that its delete removed by cascade. What cannot be \
            restored is reported; the exit status is 1 then.

            Example: synctool restore music.db Album/348

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(help: ArgumentHelp("The object, from synctool history.", valueName: "entity/key"))
    var object: String

    @OptionGroup var output: OutputOptions
    var database: String? { path }

    mutating func run() async throws {
        let name = try ObjectName(path: object)
        let undo = try await ProgressLine.during("restore") {
            try Undo(path) { try $0.restore(name, author: Revert.author) }
        }
        try UndoText(path: path, done: "restored \(object)")
            .print(undo, asJSON: output.isJSON)
        if !undo.report.isComplete { throw ExitCode(1) }
    }
}
