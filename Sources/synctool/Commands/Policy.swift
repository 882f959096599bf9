import ArgumentParser
import SyncReplica

/// `synctool policy DB [ENTITY]`
struct Policy: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show or choose how an entity's rows merge.",
        discussion: """
            For all properties of an entity: lastWriter (the default), firstWriter, 'preferring \
            REPLICA', or object (the row is one value). For one: these but object, and counter \
            (what everybody added counts), set (a JSON array, element by element), text (line by \
            line). The choice travels with the next push; every replica shows its tables by it.

            Identity, references and object can be chosen only before the first push or pull.

            Example: synctool policy music.db Track --property Plays=counter --deletes editWins
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
    @Argument(help: "The table; without one, all choices are shown.") var entity: String?
    @Option(help: ArgumentHelp("How all its properties merge.", valueName: "policy"))
    var properties: String?
    @Option(
        name: .customLong("property"),
        help: ArgumentHelp("How one merges; may be repeated.", valueName: "column=policy"))
    var columns: [String] = []
    @Option(help: ArgumentHelp("deleteWins (the default) or editWins.", valueName: "policy"))
    var deletes: MergePolicies.Deletes?
    @Option(
        help: ArgumentHelp(
            "Two rows with one UNIQUE value: merge (the default), keepBoth or laterLoses.",
            valueName: "policy"))
    var unique: MergePolicies.Unique?
    @Option(
        help: ArgumentHelp(
            "An INTEGER PRIMARY KEY is a number of the replica alone (number, the default), or "
                + "equal ones are the same row (key).",
            valueName: "identity"))
    var identity: MergePolicies.Identity?
    @Option(
        name: .customLong("reference"),
        help: ArgumentHelp(
            "A reference that the schema does not declare; may be repeated.",
            valueName: "column=entity"))
    var references: [String] = []
    @Flag(help: "Back to the defaults.") var reset = false
    @OptionGroup var common: CommonOptions
    var database: String? { path }

    private var chooses: Bool {
        reset || properties != nil || !columns.isEmpty || deletes != nil || unique != nil
            || identity != nil || !references.isEmpty
    }

    func validate() throws {
        guard chooses, entity == nil else { return }
        throw ValidationError("Say for which table: synctool policy \(path) TABLE …")
    }

    mutating func run() async throws {
        let choice = try chosen()
        let replica = try StoreReplica(StorePath.absolute(path))
        defer { try? replica.close() }
        var policies = try replica.policies()
        if let entity, chooses {
            let name = policies.entities.keys.first { $0.lowercased() == entity.lowercased() }
            guard !reset || name != nil else {
                throw SyncError(
                    .invalidArgument, "nothing was chosen for \(entity)", path: path,
                    hint: "See what was: synctool policy \(path)")
            }
            let before = reset ? nil : name.flatMap { policies.entities[$0] }
            if let name { policies.entities[name] = nil }
            let policy = choice(before ?? .init())
            if policy != .init() { policies.entities[name ?? entity] = policy }
            try replica.setPolicies(policies)
            policies = try replica.policies()
        }
        if common.json { return try Terminal.output.json(PolicyText.json(policies)) }
        for line in PolicyText.lines(policies) { try Terminal.output.line(line) }
    }

    /// What the options change.
    private func chosen() throws -> (MergePolicies.EntityPolicy) -> MergePolicies.EntityPolicy {
        let properties = try properties.map { text in
            guard let policy = MergePolicies.Properties(text) else {
                throw ValidationError(
                    "'\(text)' is no policy: lastWriter, firstWriter, object or 'preferring "
                        + "REPLICA'.")
            }
            return policy
        }
        let columns = try columns.map { text in
            let (column, word) = try Self.pair(text, "column=policy")
            guard let policy = MergePolicies.Property(word) else {
                throw ValidationError(
                    "'\(word)' is no policy: lastWriter, firstWriter, counter, set, text or "
                        + "'preferring REPLICA'.")
            }
            return (column, policy)
        }
        let references = try references.map { try Self.pair($0, "column=entity") }
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

    private static func pair(_ text: String, _ form: String) throws -> (String, String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw ValidationError("'\(text)' is not \(form).") }
        return (parts[0], parts[1])
    }
}

extension MergePolicies.Deletes: ExpressibleByArgument {}
extension MergePolicies.Unique: ExpressibleByArgument {}
extension MergePolicies.Identity: ExpressibleByArgument {}
