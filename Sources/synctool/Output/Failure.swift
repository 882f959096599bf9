import SyncClient
import SyncCore
import Varlink

/// A command that failed: what, which file, why, and what to run next, on stderr, and the exit
/// status of the error's code (``ErrorTable``).
struct Failure {
    /// Characters that are shown of a line: an argument may be as long as the system allows.
    private static let widthMax = 2_000
    /// Characters of a member of the object: no path of a file is longer.
    private static let memberMax = 4_096

    /// The words of the command: `consumers add`; empty for synctool itself.
    let command: String
    /// The path of the database that the user typed; messages name the store by it.
    var typed: String?
    /// Whether the error is an object (docs/cli.md, Errors).
    var isJSON = false

    /// Prints an error.
    ///
    /// - Returns: the exit status.
    func report(_ error: SyncError) -> Int32 {
        let error = UnreadablePath.explaining(error, typed: typed)
        if isJSON {
            try? Terminal.error.json(json(error))
        } else {
            try? Terminal.error.line(message(error, on: .error))
        }
        return ErrorTable.exitStatus(for: error.code)
    }

    /// Two lines: `synctool track: music.db: the file is not a database` and the hint.
    func message(_ error: SyncError, on terminal: Terminal) -> String {
        let words = command.isEmpty ? "synctool:" : "synctool \(command):"
        var text = ""
        // A name with a line break would make a line of its own.
        if let file = file(of: error) { text += Printable.text(file) + ": " }
        text += reason(of: error)
        if let hint = hint(of: error) { text += "\n  " + hint }
        // A reason may quote what a remote sent, or its file names.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Printable.text(String($0), width: Self.widthMax) }
        return terminal.styled(words, as: .gone) + " " + lines.joined(separator: "\n")
    }

    /// The same for a program.
    func json(_ error: SyncError) -> JSONObject {
        [
            "error": .string(error.code.name),
            "status": .integer(Int64(ErrorTable.exitStatus(for: error.code))),
            "command": .string(command), "file": .text(file(of: error).map(Self.cut)),
            "message": .string(Self.cut(reason(of: error))),
            "hint": .text(hint(of: error).map(Self.cut)),
        ]
    }

    private static func cut(_ text: String) -> String { String(text.prefix(memberMax)) }

    private var path: TypedPath { TypedPath(typed) }

    private func file(of error: SyncError) -> String? {
        (error.path ?? typed).map { path.naming($0) }
    }

    private func reason(of error: SyncError) -> String {
        var text = path.naming(error.reason)
        if let below = error.underlying as? SyncError, below.reason != error.reason {
            text += " (" + path.naming(below.reason) + ")"
        }
        return text
    }

    private func hint(of error: SyncError) -> String? {
        error.hint.map { path.naming(path.fillingIn($0)) }
    }
}
