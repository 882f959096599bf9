import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Loads a region, and more of it as it turns out to be needed.
///
/// What a merge changes is reached from the changed objects by references, claims and aliases, of
/// the versions before and after it, going on only through objects that are unresolved or that
/// change. So: load the changed objects and all that are unresolved, compute, look at what
/// changed, load what stands around it, and again until nothing is missing. The simulation compares
/// the outcome with the view of the whole store after every step.
///
/// Confined to its connection's queue and to one transaction.
final class RegionLoader {
    private(set) var region: AffectedRegion
    private let prepared: MergeSession.Prepared
    /// Whether any two identities of the store are one object: few stores have some.
    private let hasAliases: Bool
    /// Objects whose references have been followed.
    private var expanded: Set<ObjectUID> = []
    /// Rows whose referrers have been looked for.
    private var surrounded: Set<RowKey> = []
    /// Entities whose default rows have been looked for.
    private var defaulted: Set<Int> = []
    /// Claims that have been looked for.
    private var claimed: Set<Claim> = []

    /// What reads one row, by entity: looked up once, not once for each row.
    private var selects: [Statement?]

    private struct Claim: Hashable {
        let entity: Int
        let columns: [Int]
        let values: [Value]
    }

    private var schema: ReplicaSchema { prepared.schema }

    /// Begins with what is unresolved.
    init(_ prepared: MergeSession.Prepared) throws {
        self.prepared = prepared
        selects = Array(repeating: nil, count: prepared.schema.tables.count)
        region = AffectedRegion(prepared.schema.merge, vector: try prepared.headers.vector())
        hasAliases = try prepared.objects.hasAliases()
        try add(try prepared.objects.unresolved())
    }

    /// The region that is everything.
    static func whole(_ prepared: MergeSession.Prepared) throws -> AffectedRegion {
        try everything(prepared).region
    }

    /// Has loaded everything.
    static func everything(_ prepared: MergeSession.Prepared) throws -> RegionLoader {
        let loader = try RegionLoader(prepared)
        for (uid, object) in try prepared.objects.all() { try loader.take(uid, object) }
        for (alias, dot) in try prepared.objects.aliases() {
            loader.region.state.remember(alias, dot: dot)
            try loader.rememberHeader(dot)
        }
        for (position, table) in prepared.schema.tables.enumerated() {
            let select = try prepared.statements.statement(table.selectAll)
            while try select.step() {
                let row = table.columns.indices.map { select.value(Int32($0)) }
                loader.region.rows[RowKey(entity: position, table.key.map { row[$0] })] = row
            }
        }
        return loader
    }

    // MARK: Objects

    /// Loads objects, with what they are aliased with, into the region.
    /// - Returns: whether anything was not there yet.
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
                try rememberHeader(dot)
                work += [alias.first, alias.second].filter { !known.contains($0) }
            }
            if region.objects[uid] == nil, let object = try prepared.objects.object(uid) {
                try take(uid, object)
                try readRow(of: object)
            }
            isNew = true
        }
        return isNew
    }

    /// Loads objects as rows around the region, with what their keys are made of: else nobody could
    /// say what a reference to them holds. One that is not plain is part of the region.
    private func addAround(_ uids: some Sequence<ObjectUID>) throws -> Bool {
        var work = Array(uids)
        var isNew = false
        while let uid = work.popLast() {
            guard region.objects[uid] == nil, !known.contains(uid),
                let object = try prepared.objects.object(uid)
            else { continue }
            if try object.state != .plain || !aliases(of: uid).isEmpty {
                isNew = try add([uid]) || isNew
                continue
            }
            try take(uid, object)
            try readRow(of: object)
            region.state.boundaryRows.insert(uid)
            work += schema.merge.entities[object.record.entity].keyTargets(of: object.record)
            isNew = true
        }
        return isNew
    }

    private var known: Set<ObjectUID> = []

    private func aliases(of uid: ObjectUID) throws -> [(MergeState.Alias, Dot)] {
        hasAliases ? try prepared.objects.aliases(of: uid) : []
    }

    /// Loads the objects that rows are shown under.
    func add(keys: some Sequence<RowKey>) throws {
        for key in keys {
            try readRow(key)
            if let uid = try prepared.objects.uid(of: key) { try add([uid]) }
        }
    }

    /// Loads the rows of keys as rows around the region.
    private func addAround(keys: some Sequence<RowKey>) throws -> Bool {
        var isNew = false
        for key in keys where region.names[key] == nil {
            guard let uid = try prepared.objects.uid(of: key) else { continue }
            isNew = try addAround([uid]) || isNew
        }
        return isNew
    }

    private func take(_ uid: ObjectUID, _ object: StoredObject) throws {
        region.objects[uid] = object
        region.state.objects[uid] = object.record
        if let key = object.key {
            region.names[RowKey(entity: object.record.entity, key)] = uid
        }
        for dot in object.record.dots { try rememberHeader(dot) }
    }

    /// Makes facts of a transaction comparable.
    func rememberHeader(_ dot: Dot) throws {
        guard region.state.headers[dot] == nil else { return }
        if let header = try prepared.headers.header(dot) { region.state.remember(header) }
    }

    private func readRow(of object: StoredObject) throws {
        guard let key = object.key else { return }
        try readRow(RowKey(entity: object.record.entity, key))
    }

    private func readRow(_ key: RowKey) throws {
        guard region.rows[key] == nil else { return }
        let table = schema.tables[key.entity]
        let select =
            try selects[key.entity] ?? prepared.statements.statement(table.selectOne)
        selects[key.entity] = select
        select.bind(key.values)
        defer { select.reset() }
        guard try select.step() else { return }
        region.rows[key] = table.columns.indices.map { select.value(Int32($0)) }
    }

    // MARK: Surroundings

    /// Loads what a view of `state` still misses: `state` is the region's with more facts.
    /// - Parameter image: the rows of the view.
    /// - Returns: whether anything was loaded: then the view has to be computed again.
    func complete(_ state: MergeState, _ view: View, _ image: TableImage) throws -> Bool {
        var keys: [ObjectUID: RowKey] = [:]
        for (key, name) in image.names { keys[name] = key }
        var isNew = try promote(state, view, keys)
        isNew = try addAround(image.missing.sorted()) || isNew
        for uid in state.objects.keys.sorted() {
            guard let record = state.objects[uid] else { continue }
            // Also of a row around the region: what it refers to may be in it, and may go.
            isNew = try addDefaults(of: record.entity) || isNew
            if region.state.boundaryRows.contains(uid) { continue }
            let entity = schema.merge.entities[record.entity]
            if !entity.references.isEmpty, expanded.insert(uid).inserted {
                // Also what it referred to before: else the view before would miss it.
                let records = [record] + (region.state.objects[uid].map { [$0] } ?? [])
                let targets = Set(
                    records.flatMap { $0.cells.joined().flatMap { $0.value.compactMap(\.target) } })
                isNew = try addAround(targets) || isNew
            }
            let stored = region.objects[uid]
            guard let key = stored?.key else { continue }
            let old = RowKey(entity: record.entity, key)
            if stored?.state == .unresolved || keys[uid] != old {
                isNew = try addReferrers(of: old) || isNew
            }
        }
        let claims = schema.merge.entities.map { !$0.claims.isEmpty }
        for (key, row) in image.rows where claims[key.entity] {
            guard let name = image.names[key], !region.state.boundaryRows.contains(name) else {
                continue
            }
            isNew = try addClaimants(key.entity, row, old: region.rows[key]) || isNew
        }
        for row in view.clashedRows {
            isNew = try addClaimants(row.entity, image.values(of: row), old: nil) || isNew
        }
        return isNew
    }

    /// A row around the region that is not shown as it was stated, or under another key than
    /// before, is part of it.
    private func promote(
        _ state: MergeState, _ view: View, _ keys: [ObjectUID: RowKey]
    ) throws -> Bool {
        let changed = state.boundaryRows.filter { uid in
            guard let record = state.objects[uid] else { return false }
            if StoredObject.state(uid, record, state, view) != .plain { return true }
            return keys[uid]?.values != region.objects[uid]?.key
        }
        return try add(changed)
    }

    /// Loads the rows that refer to the row of a key.
    func addReferrers(of key: RowKey) throws -> Bool {
        guard surrounded.insert(key).inserted else { return false }
        var isNew = false
        for (position, entity) in schema.merge.entities.enumerated() {
            for reference in entity.references where reference.target == key.entity {
                isNew =
                    try addRows(position, with: key.values, in: reference.columns) || isNew
            }
        }
        return isNew
    }

    /// Loads the rows that have what a row claims.
    private func addClaimants(_ position: Int, _ row: [Value], old: [Value]?) throws -> Bool {
        let entity = schema.merge.entities[position]
        var isNew = false
        for columns in entity.claims {
            let values = columns.map { row[$0] }
            if values.contains(.null) || old.map({ old in columns.map { old[$0] } }) == values {
                continue
            }
            let claim = Claim(entity: position, columns: columns, values: values)
            guard claimed.insert(claim).inserted else { continue }
            isNew = try addRows(position, with: values, in: columns) || isNew
        }
        return isNew
    }

    private func addRows(_ entity: Int, with values: [Value], in columns: [Int]) throws -> Bool {
        let table = schema.tables[entity]
        let select = try prepared.statements.statement(table.select(by: columns))
        select.bind(values)
        var keys: [RowKey] = []
        while try select.step() {
            keys.append(RowKey(entity: entity, table.key.map { select.value(Int32($0)) }))
        }
        return try addAround(keys: keys)
    }

    /// Loads the rows that references of an entity fall back to.
    private func addDefaults(of entity: Int) throws -> Bool {
        guard defaulted.insert(entity).inserted else { return false }
        var isNew = false
        let entity = schema.merge.entities[entity]
        for reference in entity.references where reference.onDelete == .setDefault {
            let values = reference.columns.map { entity.columns[$0].defaultValue }
            if values.contains(.null) { continue }
            let key = RowKey(entity: reference.target, values)
            isNew = try addAround(keys: [key]) || isNew
        }
        return isNew
    }

    /// Loads what the rows of the tables refer to: for local transactions, whose rows come first.
    func addTargets(ofRows keys: some Sequence<RowKey>) throws -> Bool {
        var isNew = false
        for key in keys {
            guard let row = region.rows[key] else { continue }
            for reference in schema.merge.entities[key.entity].references {
                let values = reference.columns.map { row[$0] }
                if values.contains(.null) { continue }
                isNew =
                    try addAround(keys: [RowKey(entity: reference.target, values)]) || isNew
            }
        }
        return isNew
    }
}

extension MergeEntity {
    /// What the key of an object refers to.
    fileprivate func keyTargets(of record: ObjectRecord) -> [ObjectUID] {
        if references.isEmpty { return [] }
        let cells = Set(key.compactMap { cellOfColumn[$0] })
        return cells.sorted().flatMap { cell in
            record.cells[cell].flatMap { $0.value.compactMap(\.target) }
        }
    }
}
