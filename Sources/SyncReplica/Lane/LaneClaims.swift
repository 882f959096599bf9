import SyncMerge
import SyncValues

/// What objects claim by UNIQUE: those of a slice, whichever lane they take, and those that it may
/// bring back.
///
/// Every stored version of an object that a slice names counts, not only the shown one: a delete or
/// an edit that wins now may lose against what arrives.
struct LaneClaims {
    /// What one version of an object claims.
    private struct Offer: Hashable {
        let entity: Int
        let claim: Int
        /// As UNIQUE compares them.
        let values: [Field]
    }

    private let storage: ReplicaStorage
    private let slice: LaneSlice
    private let stored: [ObjectUID: StoredObject]
    /// Objects of which another one offers the same.
    private(set) var clashing: Set<ObjectUID> = []

    /// - Complexity: O(facts of the slice, and of the stored objects that it names)
    init(of slice: LaneSlice, with stored: [ObjectUID: StoredObject], in storage: ReplicaStorage) {
        self.storage = storage
        self.slice = slice
        self.stored = stored
        var holders: [Offer: ObjectUID] = [:]
        for uid in slice.objects.union(returning) {
            forEachOffer(of: uid) { claim, values in
                guard let entity = entity(of: uid) else { return }
                let folded = storage.schema.merge.entities[entity].claims[claim].folded(values)
                let offer = Offer(entity: entity, claim: claim, values: folded)
                guard let other = holders.updateValue(uid, forKey: offer), other != uid else {
                    return
                }
                clashing.formUnion([uid, other])
            }
        }
    }

    /// Stored objects that are not shown as they are, and that the slice may show again.
    private var returning: Set<ObjectUID> {
        Set(stored.filter { $0.value.state != .plain }.keys)
    }

    private func entity(of uid: ObjectUID) -> Int? {
        slice.arrivals[uid]?.entity ?? stored[uid]?.record.entity
    }

    /// Calls `body` for each claim and each version of its cell, with the claimed values.
    private func forEachOffer(
        of uid: ObjectUID, _ body: (_ claim: Int, _ values: [Field]) throws -> Void
    ) rethrows {
        guard let position = entity(of: uid) else { return }
        let entity = storage.schema.merge.entities[position]
        for (index, claim) in entity.claims.enumerated() {
            guard let cell = claim.columns.lazy.compactMap({ entity.cellOfColumn[$0] }).first else {
                continue
            }
            let known = stored[uid].flatMap { $0.record.entity == position ? $0.record : nil }
            let arriving = slice.arrivals[uid]?.versions(of: cell) ?? []
            for version in arriving + (known?.cells[cell] ?? []) {
                let values = claim.values { column in
                    guard let place = entity.cells[cell].firstIndex(of: column) else {
                        return .value(.null)
                    }
                    return MergeState.decoded(version.value[place])
                }
                if let values { try body(index, values) }
            }
        }
    }

    /// Whether an object writes a claim that is not certain to be free: rows have the values, or
    /// they are references, or an unresolved object of the entity may claim them, too.
    /// - Throws: SQLite errors.
    /// - Complexity: O(versions of its claims), each a look-up in the index of the UNIQUE.
    func isUncertain(_ uid: ObjectUID, troubledEntities: Set<Int>) throws -> Bool {
        guard let arrival = slice.arrivals[uid] else { return true }
        let entity = storage.schema.merge.entities[arrival.entity]
        let written = Set(arrival.versions.map(\.cell))
        let isWritten = entity.claims.map { claim in
            claim.columns.contains { entity.cellOfColumn[$0].map(written.contains) ?? false }
        }
        guard isWritten.contains(true) else { return false }
        if troubledEntities.contains(arrival.entity) { return true }
        var isUncertain = false
        try forEachOffer(of: uid) { claim, values in
            guard isWritten[claim], !isUncertain else { return }
            let holders = try holders(of: values, claim: claim, entity: arrival.entity)
            isUncertain = holders.map { !$0.subtracting([uid]).isEmpty } ?? true
        }
        return isUncertain
    }

    /// The rows that objects claim from others: these may be shown otherwise after the slice.
    /// - Returns: the objects, and the entities of which any may be among them.
    /// - Throws: SQLite errors.
    func disputed(by uids: Set<ObjectUID>) throws -> (objects: Set<ObjectUID>, entities: Set<Int>) {
        var objects: Set<ObjectUID> = []
        var entities: Set<Int> = []
        for uid in uids.union(returning) {
            guard let entity = entity(of: uid) else { continue }
            try forEachOffer(of: uid) { claim, values in
                guard let holders = try holders(of: values, claim: claim, entity: entity) else {
                    entities.insert(entity)
                    return
                }
                objects.formUnion(holders.subtracting([uid]))
            }
        }
        return (objects, entities)
    }

    /// The objects whose rows have the values of a claim; nil where these are references.
    private func holders(
        of values: [Field], claim: Int, entity: Int
    ) throws -> Set<ObjectUID>? {
        var plain: [Value] = []
        for field in values {
            guard case .value(let value) = field else { return nil }
            plain.append(value)
        }
        let table = storage.schema.tables[entity]
        let select = try storage.statements.statement(table.selectClaimants[claim])
        select.bind(plain)
        var keys: [RowKey] = []
        while try select.step() {
            let key = table.key.map { select.value(Int32($0)) }
            keys.append(storage.schema.merge.key(entity, key))
        }
        return Set(try keys.compactMap(storage.objects.uid(of:)))
    }
}
