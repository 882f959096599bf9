import ArgumentParser
import SyncReplica

extension Remote {
    /// `synctool remote members DB`
    struct Members: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the replicas whose keys are known; remove or admit one.",
            discussion: """
                Each replica signs what it sends. The first key that is seen of a replica is the \
                only one that is accepted of it. Compare a key by the 8 digits that this command \
                shows there.

                --remove: batches that the replica sends are not merged any more. What it wrote \
                before stays, and its transactions are accepted where others forward them. The \
                decision is of this database alone.

                \(FileCommandHelp.note)
                """)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Option(
            help: ArgumentHelp(
                "Refuse the batches of a replica: its name, or first digits of its identifier.",
                valueName: "replica"))
        var remove: String?
        @Option(
            help: ArgumentHelp("Accept the batches of a removed replica.", valueName: "replica"))
        var admit: String?
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        func validate() throws {
            guard remove == nil || admit == nil else {
                throw ValidationError("--remove and --admit exclude each other")
            }
        }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            if let name = remove ?? admit {
                let member = try replica.replicaNames().replica(
                    name, among: try replica.members().map(\.replica))
                try replica.setMember(member, isRemoved: remove != nil)
            }
            let members = try replica.members()
            let names = try replica.replicaNames()
            if output.isJSON {
                for member in members {
                    try Terminal.output.json(MemberText.json(member, names: names))
                }
                return
            }
            if members.isEmpty {
                try Terminal.output.line(
                    "no keys known: neither this store nor another one has signed. Next run: "
                        + "synctool upgrade \(Shell.quoted(path))")
            }
            for line in MemberText.lines(members, names: names) { try Terminal.output.line(line) }
        }
    }
}
