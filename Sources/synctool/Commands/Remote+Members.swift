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

                --remove: batches that the replica sends are not merged any more, here and on all \
                other replicas: the decision is signed, and travels with the next sync. What it \
                wrote before stays, and so do its transactions that others had merged. --admit \
                undoes it.

                --members closed: what a new replica sends waits until a member admits it; sync \
                names it. Those whose keys are known here are admitted. --members open undoes it.

                \(FileCommandHelp.note)
                """)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Option(
            help: ArgumentHelp(
                "Refuse the batches of a replica, by its identifier or its first digits.",
                valueName: "replica"))
        var remove: String?
        @Option(
            help: ArgumentHelp("Accept the batches of a removed replica.", valueName: "replica"))
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
            if output.isJSON {
                for member in members { try Terminal.output.json(MemberText.json(member)) }
                return
            }
            if members.isEmpty {
                try Terminal.output.line(
                    "no keys known: neither this store nor another one has signed. Next run: "
                        + "synctool upgrade \(Shell.quoted(path))")
            }
            for line in MemberText.lines(members) { try Terminal.output.line(line) }
            if try replica.isMembershipClosed() {
                try Terminal.output.line(
                    "closed: what another replica sends waits until a member admits it")
            }
        }

        private func decide(on replica: StoreReplica) throws {
            if let name = remove ?? admit {
                let member = try Self.member(name, among: replica.members())
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

        /// A replica by its identifier, or by the first digits of one whose key is known.
        static func member(_ name: String, among members: [Member]) throws -> ReplicaID {
            let found = members.filter { $0.replica.description.hasPrefix(name.lowercased()) }
            if found.isEmpty, let replica = ReplicaID(name.lowercased()) { return replica }
            guard found.count == 1, name.count >= 4 else {
                throw SyncError(
                    .invalidArgument,
                    found.count > 1 || name.count < 4
                        ? "'\(name)' does not name one replica"
                        : "no key of a replica '\(name)' is known here",
                    hint: "The known ones are listed by: synctool remote members DB; any other is "
                        + "named by its whole identifier")
            }
            return found[0].replica
        }
    }
}
