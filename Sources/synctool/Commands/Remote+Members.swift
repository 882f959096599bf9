import ArgumentParser
import SyncReplica

extension Remote {
    /// `synctool remote members DB`
    struct Members: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the replicas whose keys are known; remove or admit one.",
            discussion: """
                Each replica signs what it sends. The first key that is seen of a replica is the \
                only one that is accepted from it. To verify a key, compare the 8 digits shown \
                here with those that this command shows on that replica.

                --remove: batches that the replica sends are not merged any more, here and on all \
                other replicas: the decision is signed, and travels with the next sync. What it \
                wrote before stays, and so do its transactions that others had merged. --admit \
                undoes it.

                --members closed: what a new replica sends waits until a member admits it; sync \
                names it. Those whose keys are known here are admitted. --members open undoes it.

                \(FileCommandHelp.note)
                """)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Option(
            help: ArgumentHelp(
                "Refuse the batches of a replica: its name, or first digits of its identifier.",
                valueName: "replica"))
        var remove: String?
        @Option(
            help: ArgumentHelp(
                "Accept the batches of a replica that was removed, or waits.", valueName: "replica")
        )
        var admit: String?
        @Option(
            help: ArgumentHelp(
                "Whether new replicas join by themselves: open or closed.", valueName: "kind"))
        var members: Kind?
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        /// Whether new replicas have to be admitted.
        enum Kind: String, ExpressibleByArgument, CaseIterable { case open, closed }

        func validate() throws {
            guard [remove, admit, members?.rawValue].compactMap({ $0 }).count <= 1 else {
                throw ValidationError("--remove, --admit and --members exclude each other")
            }
        }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            try decide(on: replica)
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
            if try replica.isMembershipClosed() {
                try Terminal.output.line(
                    "closed: what another replica sends waits until a member admits it")
            }
        }

        private func decide(on replica: StoreReplica) throws {
            if let name = remove ?? admit {
                let member = try Self.member(
                    name, among: replica.members(), names: replica.replicaNames())
                try replica.setMember(member, isRemoved: remove != nil)
            } else if let members {
                try replica.setMembership(isClosed: members == .closed)
            } else {
                return
            }
            guard !output.isJSON else { return }
            try Terminal.error.line(
                "The other replicas learn it from: synctool sync \(Shell.quoted(path))")
        }

        /// A replica by its name, by the first digits of its identifier where its key is known,
        /// or by its whole identifier.
        static func member(
            _ name: String, among members: [Member], names: KnownNames
        ) throws -> ReplicaID {
            if let replica = ReplicaID(name.lowercased()) { return replica }
            return try names.replica(name, among: members.map(\.replica))
        }
    }
}
