import Foundation
import GRDB
import SyncCore

/// Writes a request in the open transaction. If it throws, the caller rolls back.
///
/// Order: updates, deletions (objects that delete rules reach first), insertions, pairs. An update
/// that violates a UNIQUE constraint is tried again after the deletions, which may have freed the
/// values. Each update and deletion names the values that the context had read, so that the
/// comparison and the write are one statement. All conflicts of the request are collected before it
/// fails.
struct SaveTransaction {
    private let request: SaveRequest
    let db: Database
    private let rows: StoreRows
    private let identities: Identities
    private let deleting: Set<ManagedObjectID>
    private var result = SaveResult()
    private var conflicts: [SaveConflict] = []
    /// The keys of new rows, by the temporary ones.
    private(set) var keys: [Value: Value] = [:]
    private let statements: SaveStatements
    /// Keys of new rows come from SQLite, so that references to them wait for those.
    private let hasTemporaryKeys: Bool

    init(_ request: SaveRequest, in db: Database, rows: StoreRows) {
        self.request = request
        self.db = db
        self.rows = rows
        identities = rows.identities
        deleting = Set(request.deletes.map(\.id))
        statements = SaveStatements(db)
        hasTemporaryKeys = request.inserts.contains { $0.id.isTemporary }
    }

    /// - Throws: ``SaveConflicts`` with all of them, or what SQLite says.
    mutating func run() throws -> SaveResult {
        var postponed: [SaveRequest.Update] = []
        for item in request.updates where !hasTemporaryReference(item) {
            if try !update(item, isLast: false) { postponed.append(item) }
        }
        for item in request.deletes.reversed() { try delete(item) }
        try insertAll()
        for item in request.updates where hasTemporaryReference(item) { postponed.append(item) }
        for item in postponed { _ = try update(item, isLast: true) }
        for edit in request.joins where !edit.added.isEmpty || !edit.removed.isEmpty {
            try write(edit)
            result.saved.joinTables.insert(edit.join.table)
        }
        for item in request.checks {
            guard let row = try stored(item.entity, key: item.id.key) else {
                conflicts.append(SaveConflict(id: item.id, kind: .deleted))
                continue
            }
            let isSame = item.entity.slots.indices.allSatisfy {
                item.entity.slots[$0].column == nil || item.entity.slots[$0].isDerived
                    || row.values[$0] == item.old[$0]
            }
            if !isSame { conflicts.append(SaveConflict(id: item.id, kind: .changed(stored: row))) }
        }
        guard conflicts.isEmpty else { throw SaveConflicts(conflicts: conflicts) }
        if rows.hasDerived { try takeDerived() }
        return result
    }

    /// Adds what triggers computed, in rows of the request and in others.
    private mutating func takeDerived() throws {
        var keys: [String: Set<Int64>] = [:]
        for row in result.saved.inserted + result.saved.updated {
            if case .integer(let key) = row.id.key {
                keys[row.entity.root, default: []].insert(key)
            }
        }
        try rows.derived.setTexts(of: keys, in: db)
        var noted: [String: Set<Int64>] = [:]
        let statement = try RawStatement(
            db, sql: "SELECT DISTINCT entity, id FROM \(DerivedAttributes.touchedTable)")
        while try statement.step() {
            guard case .text(let root) = statement.value(0),
                case .integer(let key) = statement.value(1)
            else { continue }
            noted[root, default: []].insert(key)
        }
        guard !noted.isEmpty else { return }
        try db.execute(sql: "DELETE FROM \(DerivedAttributes.touchedTable)")
        for (root, keys) in noted {
            guard let entity = rows.model.layouts[root] else { continue }
            var query = ObjectQuery(entity: entity)
            query.keys = keys.map { .integer($0) }
            let fresh = Dictionary(
                try rows.fetch(query, in: db).map { ($0.id, $0) }, uniquingKeysWith: { $1 })
            let inserted = Set(result.saved.inserted.map(\.id))
            result.corrected.merge(fresh) { $1 }
            result.saved.inserted = result.saved.inserted.map { fresh[$0.id] ?? $0 }
            result.saved.updated.removeAll { fresh[$0.id] != nil }
            result.saved.updated += fresh.values.filter { !inserted.contains($0.id) }
        }
    }

    // MARK: Rows

    private func key(_ table: TableLayout) -> String {
        table.key.map { SQLText.quoted($0.column) + " = ?" }.joined(separator: " AND ")
    }

    private func stored(_ entity: EntityLayout, key: ManagedObjectKey) throws -> StoredRow? {
        var query = ObjectQuery(entity: entity)
        query.keys = [key]
        return try rows.fetch(query, in: db).first
    }

    private func bind(
        _ statement: RawStatement, slots: [Int], of values: [Value], from first: Int32
    ) -> Int32 {
        var place = first
        for slot in slots {
            statement.bind(place, to: values[slot])
            place += 1
        }
        return place
    }

    private func bind(
        _ statement: RawStatement, key: ManagedObjectKey, from first: Int32
    ) -> Int32 {
        if case .integer(let number) = key {
            statement.bind(first, to: .integer(number))
            return first + 1
        }
        statement.bind(key.values, from: Int(first))
        return first + Int32(key.values.count)
    }

    private func isReference(_ entity: EntityLayout, slot: Int) -> Bool {
        if case .reference = entity.slots[slot].kind { return true }
        return false
    }

    private func hasTemporaryReference(_ item: SaveRequest.Update) -> Bool {
        hasTemporaryKeys && item.new.contains { keys[$0] != nil || isTemporary($0) }
    }

    private func isTemporary(_ value: Value) -> Bool {
        guard case .integer(let number) = value else { return false }
        return number < ManagedObjectKey.temporaryBase + ManagedObjectKey.temporaryCount
    }

    private func resolved(_ values: [Value], of entity: EntityLayout) -> [Value] {
        guard !keys.isEmpty else { return values }
        return values.enumerated().map { index, value in
            isReference(entity, slot: index) ? keys[value] ?? value : value
        }
    }

    // MARK: Updates

    /// False when it violates a UNIQUE constraint and may be tried again.
    private mutating func update(_ item: SaveRequest.Update, isLast: Bool) throws -> Bool {
        let entity = item.entity
        let new = resolved(item.new, of: entity)
        let changed = entity.slots.indices.filter {
            new[$0] != item.old[$0] && entity.slots[$0].column != nil
                && !entity.slots[$0].isDerived
        }
        guard !changed.isEmpty else { return true }
        let prepared = try statements.update(entity, changing: changed)
        let statement = prepared.statement
        statement.reset()
        var place = bind(statement, slots: changed, of: new, from: 1)
        place = bind(statement, key: item.id.key, from: place)
        _ = bind(statement, slots: prepared.slots, of: item.old, from: place)
        do {
            try statement.run()
        } catch let error as DatabaseError where error.isUniqueness {
            guard isLast else { return false }
            try noteViolation(by: item.id, entity: entity, values: new, own: item.id.key)
            return true
        }
        if db.changesCount == 1 {
            noteUpdated(StoredRow(entity: entity, id: item.id, values: new), isAsked: keys.isEmpty)
        } else if let row = try stored(entity, key: item.id.key) {
            conflicts.append(SaveConflict(id: item.id, kind: .changed(stored: row)))
        } else {
            conflicts.append(SaveConflict(id: item.id, kind: .deleted))
        }
        return true
    }

    private mutating func noteUpdated(_ row: StoredRow, isAsked: Bool) {
        result.saved.updated.append(row)
        if !isAsked { result.corrected[row.id] = row }
    }

    /// Records that another row has unique values of this one.
    ///
    /// - Parameter own: The row's key when it is in the table already.
    private mutating func noteViolation(
        by id: ManagedObjectID, entity: EntityLayout, values: [Value], own: ManagedObjectKey?
    ) throws {
        let table = entity.table
        let slotOf = { (name: String) in
            entity.slots.firstIndex { $0.column.map { table.columns[$0].name } == name }
        }
        let constraints = UniqueConstraints(of: table, in: db)
        let columns = try constraints.violated(
            by: { name in
                if let slot = slotOf(name) { return values[slot] }
                if name == table.kindColumn { return .text(entity.name) }
                guard !id.isTemporary,
                    let place = table.key.firstIndex(where: { $0.column == name })
                else { return nil }
                return id.key.values[place]
            }, own: own)
        var query = ObjectQuery(entity: rows.model.layouts[entity.root] ?? entity)
        let terms = columns.compactMap { name -> BoundPredicate? in
            guard let slot = slotOf(name) else { return nil }
            return .compare(
                .slot([], entity, slot, .any), .equal, .value(values[slot], .any), [])
        }
        var other: StoredRow?
        if !terms.isEmpty {
            query.predicate = .and(terms)
            other = try rows.fetch(query, in: db).first { $0.id != id }
        }
        conflicts.append(SaveConflict(id: id, kind: .constraint(columns: columns, other: other)))
    }

    // MARK: Deletions

    private mutating func delete(_ item: SaveRequest.Delete) throws {
        // Another connection deleted it: its key is unused or belongs to another object.
        guard identities.id(in: item.id.origin, key: item.id.key) == item.id else {
            return noteDeleted(item.id, cause: item.cause)
        }
        try followRules(of: item.entity, deleting: item.id)
        let prepared = try statements.delete(item.entity)
        prepared.statement.reset()
        let place = bind(prepared.statement, key: item.id.key, from: 1)
        _ = bind(prepared.statement, slots: prepared.slots, of: item.old, from: place)
        try prepared.statement.run()
        if db.changesCount == 0, let row = try stored(item.entity, key: item.id.key) {
            guard isChangedByThisSave(row, of: item) else {
                conflicts.append(SaveConflict(id: item.id, kind: .deleteOfChanged(stored: row)))
                return
            }
            let table = item.entity.table
            let statement = try RawStatement(
                db, sql: "DELETE FROM \(SQLText.quoted(table.name)) WHERE \(key(table))")
            statement.bind(item.id.key.values)
            try statement.run()
        }
        // No row: another connection deleted it, which is the same outcome.
        noteDeleted(item.id, cause: item.cause)
    }

    /// The row differs from what the context had read only in references to objects that this save
    /// deletes: their foreign keys were set to NULL by this save.
    private func isChangedByThisSave(_ row: StoredRow, of item: SaveRequest.Delete) -> Bool {
        item.entity.slots.indices.allSatisfy { slot in
            let layout = item.entity.slots[slot]
            if layout.column == nil || layout.isDerived || row.values[slot] == item.old[slot] {
                return true
            }
            guard row.values[slot] == .null, case .reference(let relation) = layout.kind,
                let key = ManagedObjectKey(reference: item.old[slot])
            else { return false }
            let origin = identities.origin(item.entity.relations[relation].destinationRoot)
            return deleting.contains(identities.id(in: origin, key: key))
        }
    }

    private mutating func noteDeleted(_ id: ManagedObjectID, cause: GoneCause) {
        let gone = Gone(cause, author: request.author, time: Date())
        result.saved.deleted.append(DeletedObject(id: id, gone: gone))
    }

    /// Applies the delete rules to rows that the context does not know: another process may have
    /// added them.
    private mutating func followRules(of entity: EntityLayout, deleting id: ManagedObjectID) throws
    {
        guard let reference = id.key.reference else { return }
        for relation in entity.relations {
            guard case .inverse(let name, let slot, _) = relation.storage,
                let other = rows.model.layouts[name], relation.description.deleteRule != .noAction
            else { continue }
            var query = ObjectQuery(entity: other)
            query.predicate = .compare(
                .slot([], other, slot, .any), .equal, .value(reference, .any), [])
            for row in try rows.fetch(query, in: db) where !deleting.contains(row.id) {
                try apply(
                    relation.description.deleteRule, to: row, slot: slot, owner: id,
                    relation: relation.name)
            }
        }
    }

    private mutating func apply(
        _ rule: DeleteRule, to row: StoredRow, slot: Int, owner: ManagedObjectID,
        relation: String
    ) throws {
        let table = row.entity.table
        switch rule {
        case .noAction: return
        case .deny:
            throw ObjectError(
                .deleteDenied, "“\(owner)” is still referenced by “\(row.id)”",
                hint: "Delete or move that object first", entity: owner.entity,
                property: relation, object: owner)
        case .cascade:
            try followRules(of: row.entity, deleting: row.id)
            let statement = try RawStatement(
                db, sql: "DELETE FROM \(SQLText.quoted(table.name)) WHERE \(key(table))")
            statement.bind(row.id.key.values)
            try statement.run()
            result.unrequested.insert(row.id)
            noteDeleted(row.id, cause: .cascade(of: owner))
        case .nullify:
            guard let column = row.entity.slots[slot].column else { return }
            let statement = try RawStatement(
                db,
                sql: "UPDATE \(SQLText.quoted(table.name)) SET "
                    + "\(SQLText.quoted(table.columns[column].name)) = NULL WHERE \(key(table))")
            statement.bind(row.id.key.values)
            try statement.run()
            var values = row.values
            values[slot] = .null
            noteUpdated(
                StoredRow(entity: row.entity, id: row.id, values: values), isAsked: false)
        }
    }

    // MARK: Insertions

    /// An object whose references are still temporary waits for those it leads to; in a circle, its
    /// references are written last.
    private mutating func insertAll() throws {
        guard hasTemporaryKeys else {
            for item in request.inserts { try insert(item) }
            return
        }
        var waiting = request.inserts
        while !waiting.isEmpty {
            let ready = waiting.filter { !isWaiting($0) }
            let batch = ready.isEmpty ? [waiting[0]] : ready
            for item in batch { try insert(item) }
            let done = Set(batch.map(\.id))
            waiting.removeAll { done.contains($0.id) }
        }
    }

    private func isWaiting(_ item: SaveRequest.Insert) -> Bool {
        item.values.indices.contains { index in
            isReference(item.entity, slot: index) && isTemporary(item.values[index])
                && keys[item.values[index]] == nil
        }
    }

    private mutating func insert(_ item: SaveRequest.Insert) throws {
        let entity = item.entity
        let table = entity.table
        let values = resolved(item.values, of: entity)
        if !item.id.isTemporary, table.isManaged { return try insertOwn(item, values: values) }
        var names: [String] = []
        var bound: [Value] = []
        if let kind = table.kindColumn {
            names.append(kind)
            bound.append(.text(entity.name))
        }
        for (index, slot) in entity.slots.enumerated() {
            guard let column = slot.column, !slot.isDerived else { continue }
            let name = table.columns[column].name
            // An existing table has its own defaults, and SQLite or a trigger chooses its keys.
            if !table.isManaged, values[index] == .null { continue }
            names.append(name)
            bound.append(
                isTemporary(values[index]) && isReference(entity, slot: index)
                    ? .null : values[index])
        }
        let statement = try RawStatement(
            db,
            sql: names.isEmpty
                ? "INSERT INTO \(SQLText.quoted(table.name)) DEFAULT VALUES"
                : "INSERT INTO \(SQLText.quoted(table.name))(\(SQLText.list(names)))"
                    + " VALUES (\(SQLText.marks(names.count)))")
        statement.bind(bound)
        do {
            try statement.run()
        } catch let error as DatabaseError where error.isUniqueness {
            try noteViolation(by: item.id, entity: entity, values: values, own: nil)
            return
        }
        try finishInsert(item, values: values)
    }

    /// Inserts into a managed table, with the permanent key of the object.
    private mutating func insertOwn(_ item: SaveRequest.Insert, values: [Value]) throws {
        let prepared = try statements.insert(item.entity)
        prepared.statement.reset()
        var place = bind(prepared.statement, key: item.id.key, from: 1)
        if item.entity.table.kindColumn != nil {
            prepared.statement.bind(place, to: .text(item.entity.name))
            place += 1
        }
        _ = bind(prepared.statement, slots: prepared.slots, of: values, from: place)
        do {
            try prepared.statement.run()
        } catch let error as DatabaseError where error.isUniqueness {
            return try noteViolation(
                by: item.id, entity: item.entity, values: values, own: nil)
        }
        try finishInsert(item, values: values)
    }

    private mutating func finishInsert(_ item: SaveRequest.Insert, values: [Value]) throws {
        let entity = item.entity
        guard item.id.isTemporary else {
            let id = identities.id(in: item.id.origin, key: item.id.key)
            if id != item.id { result.renamed[item.id] = id }
            noteInserted(StoredRow(entity: entity, id: id, values: values), isAsked: keys.isEmpty)
            return
        }
        let rowID = db.lastInsertedRowID
        let key =
            entity.table.key.count == 1 && entity.table.key[0].isRowID
            ? ManagedObjectKey.integer(rowID) : ManagedObjectKey(keyValues(of: entity, in: values))
        let id = identities.id(in: item.id.origin, key: key)
        result.renamed[item.id] = id
        if let temporary = item.id.key.reference, let real = key.reference {
            keys[temporary] = real
        }
        if let row = try stored(entity, key: key) { noteInserted(row, isAsked: false) }
    }

    private mutating func noteInserted(_ row: StoredRow, isAsked: Bool) {
        result.saved.inserted.append(row)
        if !isAsked { result.corrected[row.id] = row }
    }

    private func keyValues(of entity: EntityLayout, in values: [Value]) -> [Value] {
        entity.table.key.map { column in
            let slot = entity.slots.firstIndex {
                $0.column.map { entity.table.columns[$0].name } == column.column
            }
            return slot.map { values[$0] } ?? .null
        }
    }
}

extension DatabaseError {
    fileprivate var isUniqueness: Bool {
        extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
            || extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY
            || extendedResultCode == .SQLITE_CONSTRAINT_ROWID
    }
}
