import SyncMerge
import SyncValues

/// Decides which objects of a slice the fast lane may take: those that the view shows as they are
/// stated, alone, and whose merge changes no other row (docs/merge-design.md, *When the fast lane
/// may take an object*). Nothing is changed.
///
/// What is asked of the store is asked for all objects at once, by identity; only claims and
/// private numbers are looked up one by one, in the indexes that also keep them unique.
struct LaneRules {
    /// Which objects of a slice may go which way.
    struct Decision {
        /// Those that the fast lane may take.
        fileprivate(set) var eligible: Set<ObjectUID> = []
        /// The others, with the first rule that refuses each.
        fileprivate(set) var refusals: [ObjectUID: LaneReason] = [:]
    }

    private let storage: ReplicaStorage
    private let slice: LaneSlice
    private let around: LaneSurroundings
    /// Entities that SET DEFAULT may fall back to.
    private let fallbacks: Set<Int>
    /// How many new objects of the slice have each private number.
    private var numbered: [RowKey: Int] = [:]

    private var schema: MergeSchema { storage.schema.merge }

    private init(_ slice: LaneSlice, in storage: ReplicaStorage) throws {
        self.storage = storage
        self.slice = slice
        around = try LaneSurroundings(of: slice, in: storage)
        fallbacks = Set(
            storage.schema.merge.entities.flatMap { entity in
                entity.references.filter { $0.onDelete == .setDefault }.map(\.target)
            })
        for (uid, arrival) in slice.arrivals where around.stored[uid] == nil {
            guard let number = slice.numbers[uid] else { continue }
            numbered[RowKey(entity: arrival.entity, [.integer(number)]), default: 0] += 1
        }
    }

    /// Applies the rules to a slice, before anything of it is written.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(facts of the slice and of the objects that it names, and what is unresolved)
    static func decide(_ slice: LaneSlice, in storage: ReplicaStorage) throws -> Decision {
        var decision = Decision()
        if slice.hasGaps {
            for uid in slice.objects { decision.refusals[uid] = .gaps }
            return decision
        }
        let rules = try LaneRules(slice, in: storage)
        for uid in slice.objects {
            if let reason = try rules.reason(against: uid) { decision.refusals[uid] = reason }
        }
        let claims = LaneClaims(of: slice, with: rules.around.stored, in: storage)
        for uid in slice.objects where decision.refusals[uid] == nil {
            let isUncertain =
                try claims.clashing.contains(uid)
                || claims.isUncertain(uid, troubledEntities: rules.around.troubledEntities)
            if isUncertain { decision.refusals[uid] = .claim }
        }
        let (objects, entities) = try claims.disputed(by: Set(decision.refusals.keys))
        var references = LaneReferences(
            of: slice.objects.subtracting(decision.refusals.keys), in: slice, around: rules.around,
            schema: rules.schema)
        for uid in try references.refused(besides: objects, ofEntities: entities) {
            decision.refusals[uid] = .reference
        }
        decision.eligible = slice.objects.subtracting(decision.refusals.keys)
        return decision
    }

    // MARK: Rules for one object

    /// The first rule that refuses an object by its own facts, and by what is stored of it.
    private func reason(against uid: ObjectUID) throws -> LaneReason? {
        if around.aliased.contains(uid) || slice.aliased.contains(uid) { return .alias }
        if around.troubled.contains(uid) { return .trouble }
        guard let arrival = slice.arrivals[uid] else { return .alias }
        let stored = around.stored[uid]
        if let reason = reason(of: arrival, replacing: stored) { return reason }
        let entity = schema.entities[arrival.entity]
        let hasParts = arrival.versions.contains(where: \.version.isPartial)
        if hasParts || stored?.record.hasParts ?? false { return .rivals }
        for (cell, version) in arrival.versions {
            guard entity.policies[cell] == .lastWriter else { return .policy }
            guard !version.value.contains(where: { MergeState.decoded($0) != $0 }) else {
                return .state
            }
            if let stored, isRival(version, of: stored.record.cells[cell]) { return .rivals }
        }
        if stored != nil, arrival.versions.contains(where: { isKey($0.cell, of: entity) }) {
            return .key
        }
        if stored == nil, fallbacks.contains(arrival.entity) { return .fallback }
        if entity.checksReference { return .check }
        if isRefused(arrival, stored: stored) { return .refused }
        if stored == nil, entity.hasPrivateNumbers, try !isFree(uid, of: arrival.entity) {
            return .number
        }
        return nil
    }

    /// A new object is created once, with every cell; a known one lives its only life.
    private func reason(
        of arrival: LaneSlice.Arrival, replacing stored: StoredObject?
    ) -> LaneReason? {
        guard !arrival.isAmbiguous else { return .life }
        let incarnation: Int
        if let stored {
            guard stored.state == .plain, stored.key != nil, arrival.life.isEmpty,
                stored.record.entity == arrival.entity, stored.record.life.count == 1,
                stored.record.life[0].kind == .created
            else { return .life }
            incarnation = stored.record.life[0].incarnation
        } else {
            guard !arrival.life.isEmpty else { return .incomplete }
            guard arrival.life.count == 1, arrival.life[0].kind == .created,
                arrival.life[0].incarnation == 1
            else { return .life }
            incarnation = 1
        }
        guard arrival.versions.allSatisfy({ $0.version.incarnation == incarnation }) else {
            return .life
        }
        let cells = Set(arrival.versions.map(\.cell))
        guard cells.count == arrival.versions.count else { return .versions }
        let count = schema.entities[arrival.entity].cells.count
        return stored == nil && cells.count < count ? .incomplete : nil
    }

    /// Whether a version with a reference is concurrent with another one: which object is meant may
    /// change when two become one.
    private func isRival(_ version: Version, of others: [Version]) -> Bool {
        let all = others + [version]
        guard all.contains(where: { $0.value.contains { $0.target != nil } }) else { return false }
        let seen = slice.seen[version.dot]
        return others.contains { !(seen?.covers($0.dot) ?? false) }
    }

    private func isKey(_ cell: Int, of entity: MergeEntity) -> Bool {
        entity.cells[cell].contains(where: entity.key.contains)
    }

    /// Whether constraints of this replica refuse a row of any of the versions: another replica may
    /// have others.
    private func isRefused(_ arrival: LaneSlice.Arrival, stored: StoredObject?) -> Bool {
        let entity = schema.entities[arrival.entity]
        guard entity.mayRefuse else { return false }
        let versions = entity.cells.indices.map { cell in
            arrival.versions(of: cell) + (stored?.record.cells[cell] ?? [])
        }
        for turn in 0..<(versions.map(\.count).max() ?? 0) {
            var row = [Field](repeating: .value(.null), count: entity.columns.count)
            for (columns, versions) in zip(entity.cells, versions) where !versions.isEmpty {
                let version = versions[min(turn, versions.count - 1)]
                for (column, field) in zip(columns, version.value) {
                    row[column] = MergeState.decoded(field)
                }
            }
            if entity.refuses(row) { return true }
        }
        return false
    }

    /// Whether the number that a new object has at the sender is free, and no other object of the
    /// slice has it there.
    private func isFree(_ uid: ObjectUID, of entity: Int) throws -> Bool {
        guard let number = slice.numbers[uid] else { return false }
        let key = RowKey(entity: entity, [.integer(number)])
        return try numbered[key] == 1 && storage.objects.uid(of: key) == nil
            && storage.objects.holder(ofNumber: number, entity: entity)?.isGone ?? true
    }
}
