import ArgumentParser
import SyncCore

/// What every command takes.
struct CommonOptions: ParsableArguments {
    @Flag(name: .long, help: "Print one JSON object per line.")
    var json = false

    @Option(
        name: .long,
        help: ArgumentHelp("The daemon's socket; it must answer then.", valueName: "path"))
    var socket: String?

    @Flag(name: .long, help: "Work on the file itself, without the daemon.")
    var direct = false

    func validate() throws {
        if direct && socket != nil {
            throw ValidationError("--direct and --socket exclude each other.")
        }
    }
}

/// A command about a store: messages name it as the user typed it.
protocol StoreCommand: AsyncParsableCommand {
    /// The path of the database as typed; nil when the command is about all stores.
    var database: String? { get }
}

extension Timestamp {
    /// Reads a date of the command line.
    static func argument(_ text: String) throws -> Timestamp {
        guard let time = Timestamp(text) else {
            throw ValidationError(
                "'\(text)' is not a date: write 2026-01-31 or 2026-01-31T12:00:00Z.")
        }
        return time
    }
}
