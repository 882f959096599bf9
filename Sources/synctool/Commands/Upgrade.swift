import ArgumentParser
import SyncReplica

/// `synctool upgrade DB`
struct Upgrade: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sign what the store sends from now on.",
        discussion: """
            For stores that were synchronised before replicas signed their batches; a new store \
            signs from its first remote on. The command makes a key pair in the database. What was \
            sent before stays as it is. Replicas can be upgraded in any order, but programs that \
            do not know signed batches cannot read them: update syncd on all machines first.

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file()) var path:
        String
    @OptionGroup var output: OutputOptions
    var database: String? { path }

    mutating func run() async throws {
        let replica = try StoreReplica(StorePath.absolute(path))
        defer { try? replica.close() }
        let (member, isNew) = try await ProgressLine.during("upgrade") {
            try replica.startSigning()
        }
        if output.isJSON {
            let names = try replica.replicaNames()
            return try Terminal.output.json(MemberText.json(member, names: names))
        }
        try Terminal.output.line(
            isNew
                ? "\(path): signs its transactions after \(member.signsAfter) from now on, key "
                    + "\(member.fingerprint)"
                : "\(path): signs already, key \(member.fingerprint)")
        if isNew { try KeyFile.warn(about: path) }
    }
}
