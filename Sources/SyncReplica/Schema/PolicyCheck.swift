import SyncValues

/// Checks policies that an owner chooses against the schema. Policies of a batch are not checked:
/// where the schema here is another one, each column merges as it can.
struct PolicyCheck {
    private let schema: ReplicaSchema

    init(_ schema: ReplicaSchema) { self.schema = schema }

    /// Checks policies with which the schema was read.
    /// - Throws: `invalidArgument` naming the table or column.
    /// - Complexity: O(policies)
    func check(_ policies: MergePolicies) throws {
        for (name, policy) in policies.entities.sorted(by: { $0.key < $1.key }) {
            guard let position = schema.position(of: name) else {
                throw refusal("no table \(name) is tracked")
            }
            let entity = schema.merge.entities[position]
            for (column, property) in (policy.columns ?? [:]).sorted(by: { $0.key < $1.key }) {
                guard let place = schema.column(column, of: position) else {
                    throw refusal("\(name) has no column \(column)")
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
    }

    /// Checks a change of policies.
    /// - Throws: `refused` for what would change the identity of existing objects.
    /// - Complexity: O(tables)
    func check(_ policies: MergePolicies, after present: MergePolicies) throws {
        for table in schema.tables
        where policies.frame(of: table.name) != present.frame(of: table.name) {
            throw SyncError(
                .refused,
                "the store has been synchronised: identity, references and whole rows of "
                    + "\(table.name) can no longer be set",
                hint:
                    "They are set before the first push; to begin a new store: synctool untrack DB")
        }
    }

    private func refusal(_ reason: String) -> SyncError {
        SyncError(
            .invalidArgument, reason, hint: "The policies and their rules: synctool help policy")
    }
}
