import ArgumentParser
import SyncCore
import SyncStorage

#if canImport(Glibc)
    import Glibc
#endif

/// Where `synctool` begins; the program that calls it is target `Programs`.
package enum EntryPoint {
    package static func main() async {
        // A reader that closes the pipe, as `head` does, is an error of write(), not a signal.
        signal(SIGPIPE, SIG_IGN)
        CoreDumps.disable()
        DatabaseOpener.leaveSuperJournals()
        var command = parse(Array(CommandLine.arguments.dropFirst()))
        do {
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let kind = type(of: command)
            let typed = (command as? any StoreCommand)?.database
            if let status = Failure.report(error, command: kind.name, typed: typed) {
                exit(status)
            }
            Synctool.exit(withError: error)
        }
    }

    /// The command of the arguments; a usage error ends the process with status 64.
    private static func parse(_ arguments: [String]) -> any ParsableCommand {
        if let message = UsageMessage.unknownCommand(in: arguments) { fail(with: message) }
        do {
            return try Synctool.parseAsRoot(arguments)
        } catch {
            if let message = UsageMessage.explaining(error, arguments: arguments) {
                fail(with: message)
            }
            Synctool.exit(withError: error)
        }
    }

    private static func fail(with message: UsageMessage) -> Never {
        try? Terminal.error.line(message.text(on: .error))
        exit(ExitCode.validationFailure.rawValue)
    }
}

extension ParsableCommand {
    /// `track`, `consumers add`: the words that the user typed for it.
    fileprivate static var name: String {
        String(reflecting: self).split(separator: ".").dropFirst().joined(separator: " ")
            .lowercased()
    }
}
