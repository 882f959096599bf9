import ArgumentParser

/// What the arguments of synctool mean.
enum ParsedCommand {
    /// A command to run.
    case command(any ParsableCommand)
    /// A usage error.
    case message(UsageMessage)
    /// What the argument parser prints by itself: the help, the version, a completion script.
    case other(any Error)

    init(_ arguments: [String]) {
        let message =
            UsageMessage.unknownCommand(in: arguments) ?? UsageMessage.longOption(in: arguments)
        if let message {
            self = .message(message)
            return
        }
        do {
            self = .command(try Synctool.parseAsRoot(arguments))
        } catch {
            let message = UsageMessage.explaining(error, arguments: arguments)
            self = message.map { .message($0) } ?? .other(error)
        }
    }

    /// Whether errors are objects, also those of arguments that cannot be parsed.
    static func wantsJSON(_ arguments: [String]) -> Bool {
        arguments.prefix { $0 != "--" }.contains("--json")
    }
}
