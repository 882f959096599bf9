import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_total`: the sums of the items of each entity's objects, and of the aliases.
///
/// Invariants
/// - A total in memory is that of the facts that are stored, at any moment of a transaction:
///   ``ObjectStorage`` reports each write. ``store()`` writes them before the commit.
/// - A total counts as long as the structure that it was computed with is the present one. Any
///   other one is computed from the facts when it is needed (``complete(objects:)``). It does not
///   stay where facts are written: they would be missing from it, were the structure to return.
///
/// Confined to its connection's queue.
final class SumTotals {
    /// The sums of an entity.
    struct Total: Hashable {
        var facts: UInt128 = 0
        var shown: UInt128 = 0
    }

    /// The number that aliases have in place of a shape.
    private static let aliasShape: Int64 = 0

    let items: FactItems
    private let schema: ReplicaSchema
    private let shapes: Shapes
    private let select: Statement
    private let upsert: Statement
    private let remove: Statement
    private let removeAll: Statement
    /// By entity, then of the aliases; nil: not computed.
    private var totals: [Total?]
    private var isStored: [Bool]
    /// Whether a total of another structure is stored.
    private var isOutdated: [Bool]
    /// Whether a total has changed since the last ``reload()``.
    private var hasChanged = false
    /// Whether a total differs from what was stated before: it has changed, or has to be computed.
    var isNew: Bool { hasChanged || totals.contains(nil) }

    init(
        _ connection: OpaquePointer, items: FactItems, schema: ReplicaSchema, shapes: Shapes
    ) throws {
        self.items = items
        self.schema = schema
        self.shapes = shapes
        select = try Statement(
            "SELECT structure, facts, shown FROM syncd_total WHERE shape = ?1", on: connection)
        upsert = try Statement(
            """
            INSERT INTO syncd_total(shape, structure, facts, shown) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(shape) DO UPDATE SET structure = excluded.structure,
              facts = excluded.facts, shown = excluded.shown
            """, on: connection)
        remove = try Statement("DELETE FROM syncd_total WHERE shape = ?1", on: connection)
        removeAll = try Statement("DELETE FROM syncd_total", on: connection)
        totals = Array(repeating: nil, count: schema.tables.count + 1)
        isStored = Array(repeating: true, count: totals.count)
        isOutdated = Array(repeating: false, count: totals.count)
        try reload()
    }

    private var aliases: Int { totals.count - 1 }

    private func shape(_ place: Int) -> Int64 {
        place == aliases ? Self.aliasShape : shapes.number(of: place)
    }

    /// The hash of what the sums of an entity, or of the aliases, depend on.
    func structure(_ place: Int) -> UInt64 {
        place == aliases ? items.hash(ofText: "aliases") : items.structure(of: place)
    }

    /// The hash of the name of an entity; of the aliases, that of no name.
    func name(_ place: Int) -> UInt64 {
        place == aliases ? aliasesName : items.name(of: place)
    }

    var aliasesName: UInt64 { items.hash(ofText: "") }

    /// The name of an entity; of the aliases, what they are.
    func title(_ place: Int) -> String {
        place == aliases ? "united objects" : schema.tables[place].name
    }

    /// The entities, then the aliases.
    var places: Range<Int> { totals.indices }

    // MARK: Rows

    /// Reads the totals: other connections may have written since the last transaction.
    /// - Throws: as every method here: SQLite errors.
    func reload() throws {
        for place in places {
            select.bind(shape(place), at: 1)
            defer { select.reset() }
            totals[place] = nil
            isStored[place] = true
            isOutdated[place] = try select.step()
            guard isOutdated[place],
                select.integer(0) == Int64(bitPattern: structure(place)),
                let facts = UInt128(bytes: select.blob(1)),
                let shown = UInt128(bytes: select.blob(2))
            else { continue }
            isOutdated[place] = false
            totals[place] = Total(facts: facts, shown: shown)
        }
        hasChanged = false
    }

    /// Writes what has changed.
    func store() throws {
        for place in places where !isStored[place] || isOutdated[place] {
            defer { isOutdated[place] = false }
            guard let total = totals[place] else {
                remove.bind(shape(place), at: 1)
                try remove.run()
                continue
            }
            upsert.bind(shape(place), at: 1)
            upsert.bind(Int64(bitPattern: structure(place)), at: 2)
            upsert.bind(total.facts.bytes, at: 3)
            upsert.bind(total.shown.bytes, at: 4)
            try upsert.run()
            isStored[place] = true
        }
    }

    /// Begins with totals of nothing: no object and no alias is stored.
    func begin() { for place in places { set(Total(), at: place) } }

    /// Begins with totals of nothing where nothing is stored, so that they are never computed.
    /// - Complexity: O(1)
    func beginIfEmpty(_ objects: ObjectStorage) throws {
        if totals.contains(nil), try objects.isEmpty() { begin() }
    }

    /// Drops all totals: the facts were changed otherwise than through this object.
    func forget() throws {
        try removeAll.run()
        totals = totals.map { _ in nil }
        isStored = isStored.map { _ in true }
        hasChanged = true
    }

    /// Drops the total of an entity, as ``forget()``.
    func forget(_ place: Int) throws {
        remove.bind(shape(place), at: 1)
        try remove.run()
        totals[place] = nil
        isStored[place] = true
        hasChanged = true
    }

    // MARK: Changes

    /// Counts an object in place of what was stored of it.
    /// - Complexity: O(facts of the object)
    func replace(_ former: StoredObject?, with object: StoredObject, uid: ObjectUID) {
        let place = object.record.entity
        guard var total = totals[place] else { return }
        let before = total
        if former?.record != object.record {
            if let former { total.facts &-= items.facts(uid, former.record) }
            total.facts &+= items.facts(uid, object.record)
        }
        if let former { total.shown &-= shown(former, uid: uid) }
        total.shown &+= shown(object, uid: uid)
        if total != before { set(total, at: place) }
    }

    /// Whether the total of an entity is kept.
    func isKept(_ place: Int) -> Bool { totals[place] != nil }

    /// Adds the difference that facts of plain objects make.
    func add(_ difference: UInt128, to place: Int) {
        guard difference != 0, var total = totals[place] else { return }
        total.facts &+= difference
        set(total, at: place)
    }

    /// Counts an alias in place of the same one of another transaction.
    func replace(_ former: Dot?, with dot: Dot, of alias: MergeState.Alias) {
        guard var total = totals[aliases] else { return }
        if let former { total.facts &-= items.alias(alias, dot: former) }
        total.facts &+= items.alias(alias, dot: dot)
        set(total, at: aliases)
    }

    private func set(_ total: Total, at place: Int) {
        totals[place] = total
        isStored[place] = false
        hasChanged = true
    }

    /// What is summed of how an object is shown: 0 unless it is repaired, hidden or united.
    private func shown(_ object: StoredObject, uid: ObjectUID) -> UInt128 {
        guard object.state == .unresolved, !object.record.life.isEmpty else { return 0 }
        return items.shown(uid, entity: object.record.entity, hasRow: object.key != nil)
    }

    // MARK: All facts

    /// The totals; those that are missing are computed.
    /// - Throws: `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(facts of entities whose total is missing): all the first time.
    func complete(objects: ObjectStorage) throws -> [Total] {
        for place in places where totals[place] == nil {
            set(try computed(place, objects: objects), at: place)
        }
        try store()
        return totals.map { $0 ?? Total() }
    }

    /// The entities whose total is not that of the stored facts.
    /// - Complexity: O(facts of the store)
    func wrong(objects: ObjectStorage) throws -> [String] {
        try places.filter { place in
            try totals[place].map { try computed(place, objects: objects) != $0 } ?? false
        }.map(title)
    }

    private func computed(_ place: Int, objects: ObjectStorage) throws -> Total {
        var total = Total()
        if place == aliases {
            for (alias, dot) in try objects.aliases() {
                total.facts &+= items.alias(alias, dot: dot)
            }
            return total
        }
        try objects.forEach(ofEntity: place) { uid, object in
            total.facts &+= items.facts(uid, object.record)
            total.shown &+= shown(object, uid: uid)
        }
        return total
    }
}

extension UInt128 {
    /// Sixteen bytes, little endian.
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }

    /// Nil for another number of bytes than sixteen.
    fileprivate init?(bytes: [UInt8]?) {
        guard let bytes, bytes.count == 16 else { return nil }
        self = bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }
}
