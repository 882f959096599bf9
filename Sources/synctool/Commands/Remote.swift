import ArgumentParser
import SyncReplica

/// `synctool remote`
struct Remote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage the remotes of a store.",
        discussion: """
            dir:/path is a folder: on a disk, on removable media or copied by a file syncer. \
            ssh://[user@]host[:port]/path/to.db is another replica, on a machine with synctool.
            """,
        subcommands: [Add.self, List.self, Remove.self, Members.self, Name.self])
}

extension Remote {
    /// `synctool remote list DB`
    struct List: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the remotes of a store.", discussion: FileCommandHelp.note)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let remotes = try store.remotes()
            if output.isJSON {
                for remote in remotes { try Terminal.output.json(RemoteText.json(remote)) }
                return
            }
            if remotes.isEmpty { try Terminal.output.line("no remotes") }
            for line in RemoteText.lines(remotes) { try Terminal.output.line(line) }
        }
    }

    /// `synctool remote remove DB NAME`
    struct Remove: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a remote from a store; the remote itself is not changed.",
            discussion: FileCommandHelp.note)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The remote's name.") var name: String
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            try store.remove(remote: name)
            guard !output.isJSON else { return }
            try Terminal.output.line("\(path): remote \(name) removed")
        }
    }
}
