import ArgumentParser

#if canImport(Glibc)
    import Glibc
#endif

@main
enum Main {
    static func main() async {
        // A reader that goes away, as `head` does, is an error of write(), not a signal.
        signal(SIGPIPE, SIG_IGN)
        var command: any ParsableCommand
        do {
            command = try Synctool.parseAsRoot()
        } catch {
            Synctool.exit(withError: error)
        }
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
}

extension ParsableCommand {
    /// `track`, `consumers add`: the words that the user typed for it.
    fileprivate static var name: String {
        String(reflecting: self).split(separator: ".").dropFirst().joined(separator: " ")
            .lowercased()
    }
}
