import SyncValues

/// Checks policies that an owner chooses against the schema. Policies of a batch are not checked:
/// where the schema here is another one, each column merges as it can.
struct PolicyCheck {
    private let schema: ReplicaSchema

    init(_ schema: ReplicaSchema) { self.schema = schema }

    /// Checks policies with which the schema was read.
    /// - Throws: `unknownEntity` for a table or column that there is not; `invalidArgument` naming
    ///   the table or column that cannot merge so.
    /// - Complexity: O(policies)
    func check(_ policies: MergePolicies) throws {
        for (name, policy) in policies.entities.sorted(by: { $0.key < $1.key }) {
            guard let position = schema.position(of: name) else {
                throw SyncError.unknownEntity(name, among: schema.tables.map(\.name))
            }
            let entity = schema.merge.entities[position]
            if policy.identity == .shared {
                guard entity.sharesNumbers else {
                    throw refusal(
                        "the key of \(name) is not a single INTEGER PRIMARY KEY of its own, so it "
                            + "has no number to share")
                }
            }
            for (column, target) in (policy.references ?? [:]).sorted(by: { $0.key < $1.key }) {
                let place = schema.column(column, of: position)
                guard entity.references.contains(where: { $0.columns.first == place }) else {
                    throw refusal(
                        "\(name).\(column) cannot refer to \(target): the keys would refer to "
                            + "each other in a circle")
                }
            }
            for (column, property) in (policy.columns ?? [:]).sorted(by: { $0.key < $1.key }) {
                guard let place = schema.column(column, of: position) else {
                    throw SyncError.unknownProperty(
                        column, of: name, among: entity.columns.map(\.name))
                }
                guard let cell = entity.cellOfColumn[place] else {
                    throw refusal("\(name).\(column) is a private number")
                }
                guard entity.policies[cell] == property else {
                    throw refusal(
                        "\(name).\(column) cannot merge as \(property.name.word): the column is "
                            + "part of a key, UNIQUE, CHECK or reference, or has another policy"
                    )
                }
            }
        }
        try requireFreeNumbers()
    }

    /// Checks that no CHECK depends on shared numbers: a row is shown under a negative one until
    /// its replica has given it another, and its references follow.
    private func requireFreeNumbers() throws {
        for entity in schema.merge.entities {
            for check in entity.checks {
                let numbers = check.columns.map { column in
                    entity.sharesNumbers && entity.key == [column]
                        || entity.references.contains {
                            $0.columns == [column] && schema.merge.entities[$0.target].sharesNumbers
                        }
                }
                guard numbers.contains(true), Self.depends(check, on: numbers) else { continue }
                let names = check.columns.map { entity.columns[$0].name }.joined(separator: ", ")
                throw SyncError(
                    .refused,
                    "a CHECK of \(entity.name) over \(names) depends on a shared number, which may "
                        + "be negative for a time",
                    hint: "Use the identity key or number there, or compare numbers for equality "
                        + "alone")
            }
        }
    }

    /// Whether a CHECK tells positive numbers from negative ones, by a few samples.
    private static func depends(_ check: MergeEntity.Check, on numbers: [Bool]) -> Bool {
        let others: [Value] = [.null, .integer(0), .integer(1), .text("a")]
        let starts: [Int64] = [5, -1_552_592_369_779_749]
        return others.contains { other in
            let outcomes = starts.map { start in
                check.accepts(
                    numbers.enumerated().map { place, isNumber in
                        .value(isNumber ? .integer(start - Int64(place)) : other)
                    })
            }
            return outcomes[0] != outcomes[1]
        }
    }

    /// Checks a change of policies.
    /// - Throws: `refused` for what would change the identity of existing objects.
    /// - Complexity: O(tables)
    func check(_ policies: MergePolicies, after present: MergePolicies) throws {
        for table in schema.tables
        where policies.frame(of: table.name) != present.frame(of: table.name) {
            throw SyncError(
                .refused,
                "identity, references and whole rows of \(table.name) can no longer be set: its "
                    + "rows have identities for merging",
                hint: "They are set before the first remote is added; to begin a new store: "
                    + "synctool untrack DB")
        }
    }

    private func refusal(_ reason: String) -> SyncError {
        SyncError(
            .invalidArgument, reason, hint: "The policies and their rules: synctool help policy")
    }
}
