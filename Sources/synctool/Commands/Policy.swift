import ArgumentParser
import SyncReplica

/// `synctool policy DB [ENTITY]`
struct Policy: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show or set how the rows of a table merge.",
        discussion: """
            Policies for all columns (--properties): lastWriter (the default), firstWriter, \
            'preferring REPLICA' (a name or an identifier), or object (the row merges as one \
            value). Policies for one column (--property): the same except object, and counter (all \
            increments are added), set (a JSON array, merged by element), text (merged by line). \
            The next push sends the choice to all replicas.

            --identity, --reference and the policy object can be set only before the first \
            remote is added.

            Example: synctool policy music.db Track --property Plays=counter --deletes editWins

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file()) var path:
        String
    @Argument(help: "The table to set policies for (default: show the policies of all tables).")
    var entity: String?
    @Option(help: ArgumentHelp("The policy of all columns.", valueName: "policy"))
    var properties: String?
    @Option(
        name: .customLong("property"),
        help: ArgumentHelp("The policy of one column; may be repeated.", valueName: "column=policy")
    )
    var columns: [String] = []
    @Option(
        help: ArgumentHelp(
            "A delete and a concurrent edit: deleteWins (the default) or editWins.",
            valueName: "policy"))
    var deletes: DeletePolicy?
    @Option(
        help: ArgumentHelp(
            "Two rows with the same UNIQUE value: merge (the default), keepBoth or laterLoses.",
            valueName: "policy"))
    var unique: UniquePolicy?
    @Option(
        help: ArgumentHelp(
            "An INTEGER PRIMARY KEY: number (each replica numbers its own rows, the default), "
                + "shared (a row has the same number on all replicas; of two with one number the "
                + "later one gets another) or key (equal keys are the same row).",
            valueName: "identity"))
    var identity: MergePolicies.Identity?
    @Option(
        name: .customLong("reference"),
        help: ArgumentHelp(
            "A foreign key that the schema does not declare; may be repeated.",
            valueName: "column=table"))
    var references: [String] = []
    @Flag(help: "Reset the table to the default policies.") var reset = false
    @OptionGroup var output: OutputOptions
    var database: String? { path }

    private var isChange: Bool {
        reset || properties != nil || !columns.isEmpty || deletes != nil || unique != nil
            || identity != nil || !references.isEmpty
    }

    func validate() throws {
        guard isChange, entity == nil else { return }
        throw ValidationError("Name the table: synctool policy \(Shell.quoted(path)) TABLE …")
    }

    mutating func run() async throws {
        let replica = try StoreReplica(StorePath.absolute(path))
        defer { try? replica.close() }
        let names = try replica.replicaNames()
        let choice = try chosen(naming: names, of: replica)
        var policies = try replica.policies()
        if let entity, !isChange { try require(entity, in: policies) }
        if let entity, isChange {
            let name = policies.entities.keys.first { $0.lowercased() == entity.lowercased() }
            if name == nil { try require(entity, in: policies) }
            guard !reset || name != nil else {
                throw SyncError(
                    .refused, "the table \(entity) has no policies to reset", path: path,
                    hint: "List the policies: synctool policy DB")
            }
            let before = reset ? nil : name.flatMap { policies.entities[$0] }
            if let name { policies.entities[name] = nil }
            let policy = choice(before ?? .init())
            if policy != .init() { policies.entities[name ?? entity] = policy }
            try replica.setPolicies(policies)
            policies = try replica.policies()
        }
        let idle = try replica.idlePolicies()
        if output.isJSON {
            var json = PolicyText.json(policies)
            json["idle"] = IdlePolicyText.json(idle)
            return try Terminal.output.json(json)
        }
        for line in PolicyText.lines(policies, names: names) { try Terminal.output.line(line) }
        for policy in idle { try Terminal.error.line(IdlePolicyText.line(policy)) }
    }

    /// - Throws: `unknownEntity` for a table that is neither tracked nor has policies.
    private func require(_ entity: String, in policies: MergePolicies) throws {
        guard !policies.entities.keys.contains(where: { $0.lowercased() == entity.lowercased() })
        else { return }
        try LocalStore.require(entity: entity, in: path)
    }

    /// Applies the options to the policies of a table.
    private func chosen(
        naming names: KnownNames, of replica: StoreReplica
    ) throws -> (MergePolicies.EntityPolicy) -> MergePolicies.EntityPolicy {
        /// `preferring NAME` as `preferring IDENTIFIER`.
        func identified(_ text: String) throws -> String {
            let word = "preferring "
            guard text.hasPrefix(word) else { return text }
            let name = String(text.dropFirst(word.count))
            if ReplicaID(name) != nil { return text }
            let members = try replica.members().map(\.replica)
            let all = names.names.keys + members + [replica.replicaID]
            return word + (try names.replica(name, among: all)).description
        }
        let properties = try properties.map { text in
            guard let policy = MergePolicies.Properties(try identified(text)) else {
                throw Self.unknown(
                    text, option: "--properties",
                    choices: ["lastWriter", "firstWriter", "object"])
            }
            return policy
        }
        let columns = try columns.map { text in
            let (column, word) = try Self.pair(
                in: text, option: "--property", form: "column=policy")
            guard let policy = CellPolicy(try identified(word)) else {
                throw Self.unknown(
                    word, option: "--property",
                    choices: ["lastWriter", "firstWriter", "counter", "set", "text"])
            }
            return (column, policy)
        }
        let references = try references.map {
            try Self.pair(in: $0, option: "--reference", form: "column=table")
        }
        let (deletes, unique, identity) = (deletes, unique, identity)
        return { before in
            var policy = before
            policy.properties = properties ?? policy.properties
            policy.deletes = deletes ?? policy.deletes
            policy.unique = unique ?? policy.unique
            policy.identity = identity ?? policy.identity
            for (column, property) in columns {
                policy.columns = (policy.columns ?? [:]).merging([column: property]) { $1 }
            }
            for (column, target) in references {
                policy.references = (policy.references ?? [:]).merging([column: target]) { $1 }
            }
            return policy
        }
    }

    private static func unknown(_ word: String, option: String, choices: [String]) -> SyncError {
        SyncError(
            .invalidArgument, "\(option): '\(word)' is not a policy",
            hint: SimilarName.question(word, among: choices)
                + "Use \(choices.joined(separator: ", ")) or 'preferring REPLICA'")
    }

    private static func pair(
        in text: String, option: String, form: String
    ) throws -> (String, String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw SyncError(
                .invalidArgument, "\(option): '\(text)' is not of the form \(form)",
                hint: "See the policies and an example: synctool help policy")
        }
        return (parts[0], parts[1])
    }
}

extension DeletePolicy: ExpressibleByArgument {}
extension UniquePolicy: ExpressibleByArgument {}
extension MergePolicies.Identity: ExpressibleByArgument {}
