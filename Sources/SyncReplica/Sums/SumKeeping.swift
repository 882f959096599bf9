import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// When a replica states sums: docs/merge-design.md, *Sums*.
///
/// Equal vectors mean equal facts only of *settled* replicas: a batch that is not the last of those
/// that were made together lacks facts that a later one overwrites, and so does a slice. A replica
/// is settled when its vector covers the goals of all batches that it has merged, and when it does
/// not wait for a snapshot with gaps.
///
/// Invariant: sums are stated by settled replicas alone, in the transaction that they are of.
struct SumKeeping {
    private let storage: ReplicaStorage
    private let identity: StoreIdentity
    private var settings: Metadata { storage.history.settings }

    init(_ storage: ReplicaStorage, identity: StoreIdentity) {
        self.storage = storage
        self.identity = identity
    }

    /// Stores that a batch of those that lead to `goal` was merged.
    /// - Throws: SQLite errors; `badData` for a stored vector that cannot be read.
    func note(goal: VersionVector) throws {
        let vector = try storage.headers.vector()
        let owed = try settings.vector(.goal)
        // What is covered is not owed any more: the setting stays as short as the vector.
        let isReached = vector.covers(owed)
        let open = isReached ? goal : owed.joined(goal)
        if vector.covers(open) {
            if !owed.isEmpty { try settings.set(.goal, to: VersionVector()) }
        } else if open != owed {
            try settings.set(.goal, to: open)
        }
    }

    private func isSettled() throws -> Bool {
        try storage.isWhole()
            && settings.vector(.behind).isEmpty && storage.doubts.isEmpty
    }

    /// Stores the sums of what is merged now, unless they are stored, or the replica is not
    /// settled. At the end of a transaction.
    /// - Throws: SQLite errors.
    /// - Complexity: O(entities); the first time, and after a change of an entity's columns, O(its
    ///   facts).
    func keep() throws {
        // The file has just become another replica: its vector is not that of this transaction.
        guard try settings.value(.replica) == .blob(identity.replica.bytes) else {
            return
        }
        let vector = try storage.headers.vector()
        guard !vector.isEmpty, try isSettled() else { return }
        let policies = storage.policies
        let at = StateSums.at(
            vector, policies: policies == MergePolicies() ? "" : try policies.json(),
            store: identity.store)
        if !storage.totals.isNew, try storage.sums.newest()?.at == at { return }
        if storage.schemaHash == nil {
            let text = storage.structure.sorted().joined(separator: ";\n")
            storage.schemaHash = storage.totals.items.hash(ofText: text)
        }
        try storage.sums.write(try sums(at: at))
    }

    private func sums(at: [UInt8]) throws -> StateSums {
        let isWaiting = try storage.unknown.registers().contains {
            !storage.schema.hasDropped($0.columns, of: $0.entity)
        }
        let totals = try storage.totals.complete(objects: storage.objects)
        let entities = storage.totals.places.map { place in
            StateSums.Entity(
                name: storage.totals.name(place), structure: storage.totals.structure(place),
                facts: totals[place].facts, shown: totals[place].shown)
        }
        return StateSums(
            at: at, schema: isWaiting ? nil : storage.schemaHash, entities: entities)
    }
}
