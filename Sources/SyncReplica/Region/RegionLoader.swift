import SyncMerge
import SyncStorage
import SyncValues

/// Loads a region, and extends it while a computation needs more.
///
/// What a merge changes is reached from the changed objects by references, claims and aliases, of
/// the versions before and after it, and only through objects that are unresolved or that change.
/// So: load the changed objects and all unresolved ones, compute, check what changed, load the rows
/// around it, and repeat until nothing is missing. The simulation compares the result with the view
/// of the whole store after every step.
///
/// Confined to its connection's queue and to one transaction.
final class RegionLoader {
    private(set) var region: AffectedRegion
    private let storage: ReplicaStorage
    /// Objects that are in the region, with their aliases.
    private var known: Set<ObjectUID> = []
    /// Whether the store has aliases: most stores have none.
    private let hasAliases: Bool
    /// Objects whose references have been followed.
    private var expanded: Set<ObjectUID> = []
    /// Rows whose referrers have been loaded.
    private var surrounded: Set<RowKey> = []
    /// Rows with another spelling of their key, whose referrers have been loaded.
    private var respelled: Set<RowKey> = []
    /// Entities whose default rows have been loaded.
    private var defaulted: Set<Int> = []
    /// Claims whose rows have been loaded.
    private var claimed: Set<Claim> = []
    /// Shared numbers whose rows have been loaded.
    private var numbered: Set<RowKey> = []

    /// The statement that reads one row, by entity: found once, not once for each row.
    private var selects: [Statement?]

    private struct Claim: Hashable {
        let entity: Int
        let claim: Int
        let values: [Value]
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Loads the unresolved objects.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    init(_ storage: ReplicaStorage) throws {
        self.storage = storage
        selects = Array(repeating: nil, count: storage.schema.tables.count)
        region = AffectedRegion(storage.schema.merge, vector: try storage.headers.vector())
        hasAliases = try storage.objects.hasAliases()
        try add(try storage.objects.unresolved())
    }

    /// A region of all objects and rows.
    /// - Complexity: O(rows and facts of the store), in memory.
    static func whole(in storage: ReplicaStorage) throws -> AffectedRegion {
        try everything(in: storage).region
    }

    /// A loader that has loaded all objects and rows.
    /// - Complexity: O(rows and facts of the store), in memory.
    static func everything(in storage: ReplicaStorage) throws -> RegionLoader {
        let loader = try RegionLoader(storage)
        for (uid, object) in try storage.objects.all() { try loader.insert(object, uid: uid) }
        for (alias, dot) in try storage.objects.aliases() {
            loader.region.state.remember(alias, dot: dot)
            try loader.loadHeader(dot)
        }
        for (position, table) in storage.schema.tables.enumerated() {
            let select = try storage.statements.statement(table.selectAll)
            while try select.step() {
                let row = table.columns.indices.map { select.value(Int32($0)) }
                let key = storage.schema.merge.key(position, table.key.map { row[$0] })
                if loader.isIdentified(key) { loader.region.rows[key] = row }
            }
        }
        return loader
    }

    // MARK: Objects

    /// Loads objects, with what they are aliased with, into the region.
    /// - Returns: whether anything was loaded.
    @discardableResult
    func add(_ uids: some Sequence<ObjectUID>) throws -> Bool {
        var work = Array(uids)
        var isNew = false
        while let uid = work.popLast() {
            if region.state.boundaryRows.remove(uid) != nil { isNew = true }
            guard !known.contains(uid) else { continue }
            known.insert(uid)
            for (alias, dot) in try aliases(of: uid) {
                region.state.remember(alias, dot: dot)
                try loadHeader(dot)
                work += [alias.first, alias.second].filter { !known.contains($0) }
            }
            if region.objects[uid] == nil, let object = try storage.objects.object(uid) {
                try insert(object, uid: uid)
                try readRow(of: object)
            }
            isNew = true
        }
        return isNew
    }

    /// Loads objects as boundary rows, with the objects that their keys refer to: without these the
    /// value of a reference to them is unknown. One that is not plain becomes part of the region.
    private func addBoundary(_ uids: some Sequence<ObjectUID>) throws -> Bool {
        var work = Array(uids)
        var isNew = false
        while let uid = work.popLast() {
            guard region.objects[uid] == nil, !known.contains(uid) else { continue }
            guard let object = try storage.objects.object(uid) else {
                // Not here, but perhaps aliased with an object that is.
                if try !aliases(of: uid).isEmpty { isNew = try add([uid]) || isNew }
                continue
            }
            if try object.state != .plain || !aliases(of: uid).isEmpty {
                isNew = try add([uid]) || isNew
                // It may be shown again, and then needs what it refers to: all of a chain of
                // deleted rows at once, and not one in each round.
                work += object.record.cells.joined().flatMap { $0.value.compactMap(\.target) }
                continue
            }
            try insert(object, uid: uid)
            try readRow(of: object)
            region.state.boundaryRows.insert(uid)
            work += schema.merge.entities[object.record.entity].keyTargets(of: object.record)
            isNew = true
        }
        return isNew
    }

    private func aliases(of uid: ObjectUID) throws -> [(MergeState.Alias, Dot)] {
        hasAliases ? try storage.objects.aliases(of: uid) : []
    }

    /// Loads rows and the objects that they show.
    func add(keys: some Sequence<RowKey>) throws {
        for key in keys {
            try readRow(key)
            if let uid = try uid(of: key) { try add([uid]) }
        }
    }

    /// Loads the rows of keys as boundary rows.
    private func addBoundary(keys: some Sequence<RowKey>) throws -> Bool {
        var isNew = false
        for key in keys where region.names[key] == nil {
            guard let uid = try uid(of: key) else { continue }
            isNew = try addBoundary([uid]) || isNew
        }
        return isNew
    }

    private func insert(_ object: StoredObject, uid: ObjectUID) throws {
        region.objects[uid] = object
        region.state.objects[uid] = object.record
        if try isWithheld(object, uid: uid) { region.state.withheld.insert(uid) }
        if let key = object.key {
            region.names[schema.merge.key(object.record.entity, key)] = uid
        }
        for dot in object.record.dots { try loadHeader(dot) }
    }

    /// Whether an object is hidden that has a reference in a column which needs a value: whatever
    /// hid it, until the next merge the tables do not have it.
    private func isWithheld(_ object: StoredObject, uid: ObjectUID) throws -> Bool {
        guard object.state == .unresolved, object.key == nil else { return false }
        let entity = schema.merge.entities[object.record.entity]
        let columns = entity.requiredOutsideReferences
        return try !entity.targets(of: columns, in: object.record).isEmpty
            && storage.conflicts.isHidden(uid)
    }

    /// Loads the header of a transaction, by which its facts are compared with others.
    func loadHeader(_ dot: Dot) throws {
        guard region.state.headers[dot] == nil else { return }
        if let header = try storage.headers.header(dot) { region.state.remember(header) }
    }

    private func readRow(of object: StoredObject) throws {
        guard let key = object.key else { return }
        try readRow(schema.merge.key(object.record.entity, key))
    }

    private func readRow(_ key: RowKey) throws {
        guard region.rows[key] == nil, isIdentified(key) else { return }
        let table = schema.tables[key.entity]
        let select =
            try selects[key.entity] ?? storage.statements.statement(table.selectOne)
        selects[key.entity] = select
        select.bind(key.values)
        defer { select.reset() }
        guard try select.step() else { return }
        let row = table.columns.indices.map { select.value(Int32($0)) }
        // The row may spell its key otherwise.
        region.rows[schema.merge.key(key.entity, table.key.map { row[$0] })] = row
    }

    /// Whether a key names one row. NULL identifies nothing: several rows may have it, and none is
    /// recorded, but one that an earlier version recorded.
    private func isIdentified(_ key: RowKey) -> Bool {
        !key.values.contains(.null) || region.names[key] != nil
    }

    /// The identity that the row of a key is shown under. It is stored by the key as the row
    /// spelled it when it was last recorded or merged.
    private func uid(of key: RowKey) throws -> ObjectUID? {
        if let uid = try storage.objects.uid(of: key) { return uid }
        guard schema.tables[key.entity].hasSpellings else { return nil }
        let table = schema.tables[key.entity]
        let select = try storage.statements.statement(table.selectKey)
        select.bind(key.values)
        defer { select.reset() }
        guard try select.step() else { return nil }
        let spelled = table.key.indices.map { select.value(Int32($0)) }
        return spelled == key.values
            ? nil : try storage.objects.uid(of: schema.merge.key(key.entity, spelled))
    }

    // MARK: Surroundings

    /// Loads what the view of a state still lacks.
    /// - Parameters:
    ///   - state: the state of the region with more facts.
    ///   - view: the view of `state`.
    ///   - image: the rows of the view.
    /// - Returns: whether anything was loaded: then the view has to be computed again.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    func loadMissing(
        for state: MergeState, view: View, image: TableImage
    ) throws -> Bool {
        var keys: [ObjectUID: RowKey] = [:]
        for (key, name) in image.names { keys[name] = key }
        var isNew = try promoteChangedRows(in: state, view: view, keys: keys)
        isNew = try addBoundary(image.missing.sorted()) || isNew
        for uid in state.objects.keys.sorted() {
            guard let record = state.objects[uid] else { continue }
            // Of boundary rows, too: what they refer to may be in the region, and be deleted.
            isNew = try addDefaults(of: record.entity) || isNew
            if region.state.boundaryRows.contains(uid) { continue }
            let entity = schema.merge.entities[record.entity]
            if !entity.references.isEmpty, expanded.insert(uid).inserted {
                // What it referred to before, too: the view before the change needs it.
                let records = [record] + (region.state.objects[uid].map { [$0] } ?? [])
                let targets = Set(
                    records.flatMap { $0.cells.joined().flatMap { $0.value.compactMap(\.target) } })
                isNew = try addBoundary(targets) || isNew
            }
            let stored = region.objects[uid]
            guard let key = stored?.key else { continue }
            let old = schema.merge.key(record.entity, key)
            if stored?.state == .unresolved || keys[uid] != old {
                isNew = try addReferrers(to: old) || isNew
            }
            if let new = keys[uid], new.values != key { isNew = try addReaders(of: old) || isNew }
        }
        let claims = schema.merge.entities.map { !$0.claims.isEmpty }
        for (key, row) in image.rows where claims[key.entity] {
            guard let name = image.names[key], !region.state.boundaryRows.contains(name) else {
                continue
            }
            isNew =
                try addClaimants(of: row, entity: key.entity, old: region.rows[key]) || isNew
        }
        isNew = try addNumberHolders(in: state, keys: keys) || isNew
        for row in view.clashedRows {
            isNew =
                try addClaimants(of: image.values(of: row), entity: row.entity, old: nil) || isNew
        }
        return isNew
    }

    /// A boundary row that is not shown as it was recorded, or that has another key than before,
    /// becomes part of the region.
    private func promoteChangedRows(
        in state: MergeState, view: View, keys: [ObjectUID: RowKey]
    ) throws -> Bool {
        let changed = state.boundaryRows.filter { uid in
            guard let record = state.objects[uid] else { return false }
            let stored = StoredObject.State(of: uid, record: record, in: state, view: view)
            if stored != .plain { return true }
            return keys[uid]?.values != region.objects[uid]?.key
        }
        return try add(changed)
    }

    /// Loads the rows that refer to the row of a key.
    func addReferrers(to key: RowKey) throws -> Bool {
        guard surrounded.insert(key).inserted else { return false }
        var isNew = false
        for reference in schema.merge.references(to: key.entity) {
            isNew = try addBoundary(keys: referrers(to: key, by: reference)) || isNew
        }
        return isNew
    }

    /// Loads the rows that see how a key is spelled: a CHECK of theirs may call that another value
    /// where no reference changes. They are those that refer to it, also through their keys.
    private func addReaders(of key: RowKey) throws -> Bool {
        var isNew = false
        var work = [key]
        while let key = work.popLast() {
            guard respelled.insert(key).inserted else { continue }
            for reference in schema.merge.references(to: key.entity) {
                let keys = try referrers(to: key, by: reference)
                isNew = try addBoundary(keys: keys) || isNew
                if reference.isInKey { work += keys }
            }
        }
        return isNew
    }

    private func referrers(
        to key: RowKey, by reference: MergeSchema.IncomingReference
    ) throws -> [RowKey] {
        let sql = schema.tables[reference.entity].select(
            by: reference.columns, collations: schema.tables[key.entity].keyCollations)
        return try keys(of: reference.entity, with: key.values, by: sql)
    }

    /// Loads the rows that have the UNIQUE values of a row, with what these refer to: a view does
    /// not know the value of a reference otherwise, and does not see that the two claim one.
    private func addClaimants(
        of row: [Value], entity position: Int, old: [Value]?
    ) throws -> Bool {
        let table = schema.tables[position]
        var isNew = false
        for (index, claim) in schema.merge.entities[position].claims.enumerated() {
            guard let values = claim.values(of: row), claim.values(of: old) != values,
                claimed.insert(Claim(entity: position, claim: index, values: values)).inserted
            else { continue }
            let rivals = try keys(of: position, with: values, by: table.selectClaimants[index])
            isNew = try addBoundary(keys: rivals) || isNew
            let entity = schema.merge.entities[position]
            for key in rivals where !entity.references.isEmpty {
                guard let name = region.names[key], let record = region.objects[name]?.record
                else { continue }
                isNew = try addBoundary(entity.targets(of: claim.columns, in: record)) || isNew
            }
        }
        return isNew
    }

    /// Loads the rows that have the shared numbers which objects of the region claim, or are to
    /// show. The others that claim one of these show another number: they are unresolved, and in
    /// the region.
    private func addNumberHolders(
        in state: MergeState, keys: [ObjectUID: RowKey]
    ) throws -> Bool {
        guard schema.merge.sharesNumbers else { return false }
        var wanted: [RowKey] = []
        for (uid, record) in state.objects where !region.state.boundaryRows.contains(uid) {
            guard let cell = schema.merge.entities[record.entity].numberCell else { continue }
            for version in record.cells[cell] {
                guard let number = NumberClaim(version, in: state).number else { continue }
                wanted.append(RowKey(entity: record.entity, [.integer(number)]))
            }
            if let key = keys[uid] { wanted.append(key) }
        }
        let fresh = Set(wanted).subtracting(numbered)
        numbered.formUnion(fresh)
        return try addBoundary(keys: fresh.sorted { $0.precedes($1) })
    }

    private func keys(of entity: Int, with values: [Value], by sql: String) throws -> [RowKey] {
        let table = schema.tables[entity]
        let select = try storage.statements.statement(sql)
        select.bind(values)
        var keys: [RowKey] = []
        while try select.step() {
            keys.append(schema.merge.key(entity, table.key.map { select.value(Int32($0)) }))
        }
        return keys
    }

    /// Loads the rows that references of an entity fall back to.
    private func addDefaults(of entity: Int) throws -> Bool {
        guard defaulted.insert(entity).inserted else { return false }
        var isNew = false
        let entity = schema.merge.entities[entity]
        for reference in entity.references where reference.onDelete == .setDefault {
            let values = reference.columns.map { entity.columns[$0].defaultValue }
            if values.contains(.null) { continue }
            let key = schema.merge.key(reference.target, values)
            isNew = try addBoundary(keys: [key]) || isNew
        }
        return isNew
    }

    /// Loads what rows of the tables refer to: for local transactions, whose rows are loaded before
    /// their facts exist. Also what others refer to in columns without a foreign key here: without
    /// it, it would not be known what the row shows for it.
    func addTargets(ofRows keys: some Sequence<RowKey>) throws -> Bool {
        var isNew = false
        for key in keys {
            guard let row = region.rows[key] else { continue }
            let entity = schema.merge.entities[key.entity]
            if let uid = region.names[key], let record = region.objects[uid]?.record {
                let declared = Set(entity.references.flatMap(\.columns))
                let columns = entity.columns.indices.filter { !declared.contains($0) }
                isNew = try addBoundary(entity.targets(of: columns, in: record)) || isNew
            }
            for reference in entity.references {
                let values = reference.columns.map { row[$0] }
                if values.contains(.null) { continue }
                isNew =
                    try addBoundary(keys: [schema.merge.key(reference.target, values)]) || isNew
            }
        }
        return isNew
    }
}

extension MergeEntity.Claim {
    /// The values that a row of a table claims; nil when it claims nothing, or does not exist.
    func values(of row: [Value]?) -> [Value]? {
        guard let row else { return nil }
        return values { Field.value(row[$0]) }?.map { field in
            if case .value(let value) = field { return value }
            return .null
        }
    }
}

extension MergeEntity {
    /// What the key of an object refers to.
    fileprivate func keyTargets(of record: ObjectRecord) -> [ObjectUID] {
        references.isEmpty ? [] : targets(of: key, in: record)
    }

    /// What some columns of an object refer to, in any version.
    fileprivate func targets(of columns: [Int], in record: ObjectRecord) -> [ObjectUID] {
        let cells = Set(columns.compactMap { cellOfColumn[$0] })
        return cells.sorted().flatMap { cell in
            record.cells[cell].flatMap { $0.value.compactMap(\.target) }
        }
    }
}
