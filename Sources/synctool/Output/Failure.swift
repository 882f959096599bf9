import ArgumentParser
import SyncClient
import SyncCore

/// Reports a command that failed: what, which file, why, and what to run next, on stderr, and the
/// exit status of the error's code (``ErrorTable``).
enum Failure {
    /// Prints the error.
    ///
    /// - Parameter typed: the path that the user typed; messages name the store by it.
    /// - Returns: the exit status; nil: an error for the argument parser to report.
    static func report(_ error: any Error, command: String, typed: String?) -> Int32? {
        switch error {
        case is OutputClosed: return 0
        case let quiet as ExitCode: return quiet.rawValue
        case let error as SyncError:
            let text = message(error, command: command, typed: typed, on: .error)
            try? Terminal.error.line(text)
            return ErrorTable.exitStatus(for: error.code)
        default: return nil
        }
    }

    /// Two lines: `synctool track: music.db: the file is not a database` and the hint.
    static func message(
        _ error: SyncError, command: String, typed: String?, on terminal: Terminal
    ) -> String {
        let head = terminal.styled("synctool \(command):", as: .gone) + " "
        let path = TypedPath(typed)
        var text = ""
        if let file = error.path ?? typed { text += path.naming(file) + ": " }
        text += path.naming(error.reason)
        if let below = error.underlying as? SyncError, below.reason != error.reason {
            text += " (" + path.naming(below.reason) + ")"
        }
        if let hint = error.hint { text += "\n  " + path.naming(path.fillingIn(hint)) }
        // A reason may quote what a remote sent, or its file names.
        return head + Printable.lines(text)
    }
}
