import ArgumentParser
import SyncClient
import SyncCore

/// Ends a command that failed: what, which file, why, and what to run next, on stderr; and the
/// status that belongs to the error's code (``ErrorTable``).
enum Failure {
    /// Prints the error and says with which status to exit; nil: an error of the argument parser's.
    ///
    /// - Parameter typed: the path that the user typed; messages name the store by it.
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

    /// Two lines: `synctool track: music.db: the file is not a database` and the next step.
    static func message(
        _ error: SyncError, command: String, typed: String?, on terminal: Terminal
    ) -> String {
        var text = terminal.styled("synctool \(command):", .gone) + " "
        let path = TypedPath(typed)
        if let file = error.path ?? typed { text += path.naming(file) + ": " }
        text += path.naming(error.reason)
        if let below = error.underlying as? SyncError, below.reason != error.reason {
            text += " (" + path.naming(below.reason) + ")"
        }
        if let hint = error.hint { text += "\n  " + path.naming(path.fillingIn(hint)) }
        return text
    }
}
