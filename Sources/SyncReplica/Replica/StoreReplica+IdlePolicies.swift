import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// A policy that was chosen for a column, and that the column cannot have now: a constraint that
/// uses it was added later, or the column is gone.
public struct IdlePolicy: Sendable, Hashable {
    /// The table's name.
    public let entity: String
    /// The column's name.
    public let column: String
    /// The policy that was chosen.
    public let policy: CellPolicy
    /// The policy that holds instead; nil where there is no such column.
    public let present: CellPolicy?
}

extension StoreReplica {
    /// The policies of columns that have no effect, by table and column.
    /// - Throws: ``SyncError``: `badData` for policies that cannot be read, and SQLite errors.
    /// - Complexity: O(schema)
    public func idlePolicies() throws -> [IdlePolicy] {
        try run("policies") { session in
            guard try !session.policies().entities.isEmpty else { return [] }
            guard try session.isMerging() else {
                return try session.withFirstStorage { Self.idle($0.policies, in: $0.schema) }
            }
            return try session.transact { transaction in
                Self.idle(transaction.storage.policies, in: transaction.storage.schema)
            }
        }
    }

    /// The same of a file; none, and nothing is opened for writing, where there are no policies.
    /// - Throws: as ``Store/open(_:)`` and ``idlePolicies()``.
    package static func idlePolicies(_ path: String) throws -> [IdlePolicy] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        let isAny = try store.reading.read { database in
            guard try ReplicationTables.exist(database.connection) else { return false }
            return try Metadata(database.connection).value(.policies) != .null
        }
        guard isAny else { return [] }
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return try replica.idlePolicies()
    }

    private static func idle(
        _ policies: MergePolicies, in schema: ReplicaSchema
    ) -> [IdlePolicy] {
        var idle: [IdlePolicy] = []
        for (identity, chosen) in policies.entities {
            let entity = schema.merge.entities.first { SQLName.isEqual($0.name, to: identity) }
            guard let entity else { continue }
            for (column, policy) in chosen.columns ?? [:] {
                let place = entity.columns.firstIndex { SQLName.isEqual($0.name, to: column) }
                let cell = place.flatMap { entity.cellOfColumn[$0] }
                let present = cell.map { entity.policies[$0] }
                guard present != policy else { continue }
                idle.append(
                    IdlePolicy(
                        entity: schema.names.name(ofEntity: identity),
                        column: schema.names.name(ofColumn: column, of: identity),
                        policy: policy, present: present))
            }
        }
        return idle.sorted { ($0.entity, $0.column) < ($1.entity, $1.column) }
    }
}
