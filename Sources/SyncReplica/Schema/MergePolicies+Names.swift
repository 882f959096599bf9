extension MergePolicies {
    /// The policies with the present names of tables and columns, for people. Stored and sent are
    /// identities.
    func named(by names: SchemaNames) -> MergePolicies {
        renamed(entity: names.name(ofEntity:)) { names.name(ofColumn: $0, of: $1) }
    }

    /// The policies with identities, of some with present names.
    func identified(by names: SchemaNames) -> MergePolicies {
        renamed(entity: names.identity(ofTable:)) { names.identity(ofColumn: $0, table: $1) }
    }

    private func renamed(
        entity: (String) -> String, column: (_ column: String, _ entity: String) -> String
    ) -> MergePolicies {
        var result = self
        result.entities = [:]
        for (name, policy) in entities {
            var policy = policy
            policy.references = policy.references.map { references in
                Dictionary(references.map { (column($0.key, name), entity($0.value)) }) {
                    first, _ in first
                }
            }
            policy.columns = policy.columns.map { columns in
                Dictionary(columns.map { (column($0.key, name), $0.value) }) { first, _ in first }
            }
            result.entities[entity(name)] = policy
        }
        return result
    }
}
