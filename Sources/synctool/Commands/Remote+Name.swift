import ArgumentParser
import SyncReplica

extension Remote {
    /// `synctool remote name DB [NAME]`
    struct Name: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show or change the name of this replica.",
            discussion: """
                The name is for people: conflicts, history and messages show it on all replicas \
                of the store. The default is the name of the machine. Others learn a new name with \
                the next sync. Two replicas may have the same name: they are shown with the \
                beginnings of their identifiers.

                Example: synctool remote name music.db kiosk

                \(FileCommandHelp.note)
                """)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The new name (default: show the present one).") var name: String?
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            if let name { try replica.setName(name) }
            let known = try replica.replicaNames()[replica.replicaID]
            if output.isJSON {
                return try Terminal.output.json([
                    "replica": .string(replica.replicaID.description), "name": .text(known),
                ])
            }
            let digits = replica.replicaID.description.prefix(8)
            guard let known else {
                return try Terminal.output.line(
                    "\(path): replica \(digits) has no name yet: it gets one with its first remote")
            }
            var line = "\(path): replica \(digits) is named \(Printable.text(known))"
            if name != nil {
                line += ". Others learn it with: synctool sync \(Shell.quoted(path))"
            }
            try Terminal.output.line(line)
        }
    }
}
