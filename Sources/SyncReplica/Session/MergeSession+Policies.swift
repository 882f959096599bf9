import SyncCore
import SyncStorage
import SyncValues

extension MergeSession {
    /// The stored policies, by present names: also by those that another program has just given
    /// to tables and columns, since ``setPolicies(_:)`` takes them by these.
    /// - Throws: `refused` for a change of the schema that needs a decision; SQLite errors;
    ///   `badData` for policies that cannot be read.
    /// - Complexity: O(policies); O(schema) after it has changed.
    func policies() throws -> MergePolicies {
        let known = try read { $0.policies.named(by: $0.schema.names) }
        if let known { return known }
        guard try isMerging() || ReplicationTables.exist(connection) else {
            // Of a store that left its replicas. Nothing has another name than facts will call it.
            return try storedPolicies(in: Metadata(connection))
        }
        return try RawTransaction.write(on: connection) {
            _ = try verifyCapture()
            return try storedPolicies(in: Metadata(connection)).named(by: try presentNames())
        }
    }

    /// The stored policies, by identities.
    func storedPolicies(in settings: Metadata) throws -> MergePolicies {
        try MergePolicies(storedIn: settings)
    }

    /// Changes the policies, given by present names, and shows the tables by the new ones.
    /// - Throws: `invalidArgument` for tables and columns that the schema does not have; `refused`
    ///   for what cannot be changed any more; SQLite errors.
    /// - Complexity: O(rows and facts of the store)
    func setPolicies(_ policies: MergePolicies) throws {
        let isFirst = try RawTransaction.read(on: connection) {
            try Metadata(connection).value(.stated) == .null
        }
        if isFirst {
            return try withFirstStorage(
                choosing: { policies.identified(by: $0) },
                { try PolicyCheck($0.schema).check(policies) })
        }
        var wanted = policies
        try transact { transaction in
            let names = transaction.schema.names
            let present = transaction.storage.policies.named(by: names)
            wanted.revision = present.revision
            guard wanted != present else { return }
            guard present.revision < MergePolicies.revisionMax else {
                throw SyncError(
                    .refused,
                    "the merge policies cannot be changed any more: they have the last "
                        + "revision, \(present.revision)",
                    hint: "Begin a new store with: synctool untrack DB, synctool track DB; the "
                        + "other replicas are cloned from it")
            }
            wanted.revision = present.revision + 1
            try PolicyCheck(transaction.schema).check(wanted, after: present)
            let transaction = try adopt(wanted.identified(by: names), after: transaction)
            try PolicyCheck(transaction.schema).check(wanted)
            // An empty transaction: without one there would be nothing to send.
            try AuthoredRecording(transaction, author: nil, context: "policies")
                .record(about: []) { _, _ in }
            try transaction.finish()
        }
    }

    /// Runs `body` with the schema and the policies of a store of which nothing is stated yet, and
    /// states nothing.
    /// - Parameter choice: its policies, by the identities of the tables; nil: those that it has.
    /// - Throws: what `body` throws: the policies are as before then; SQLite errors.
    /// - Complexity: O(schema)
    func withFirstStorage<Result>(
        choosing choice: ((SchemaNames) -> MergePolicies)? = nil,
        _ body: (ReplicaStorage) throws -> Result
    ) throws -> Result {
        discardStorage()
        // The next transaction is the first one with a storage: it states the schema.
        defer { discardStorage() }
        return try RawTransaction.write(on: connection) {
            _ = try verifyCapture()
            if let choice { try store(choice(try presentNames()), revision: 1) }
            return try body(try prepare())
        }
    }

    private func store(_ policies: MergePolicies, revision: Int) throws {
        var policies = policies
        policies.revision = revision
        try Metadata(connection).set(.policies, to: .text(try policies.json()))
    }

    /// Continues with other policies, in the same SQLite transaction.
    func adopt(
        _ policies: MergePolicies, after former: MergeTransaction
    ) throws -> MergeTransaction {
        try former.finish()
        try store(policies, revision: policies.revision)
        discardStorage()
        let transaction = try begin(on: try prepare())
        try RegionUpdate(transaction).showAll()
        return transaction
    }
}
