import Foundation
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_conflict`: the log of facts that are current and that the tables do not show. An entry is
/// open while that is so; closed ones are kept, with the local transaction that closed them.
///
/// Confined to its connection's queue.
final class ConflictStorage {
    private let connection: OpaquePointer
    private let replicas: ReplicaNames
    private let selectOpen: Statement
    private let selectOpenOf: Statement
    private let hasOpen: Statement
    private let selectHidden: Statement
    private let countOpen: Statement
    private let insert: Statement
    private let insertNew: RowStatement
    private let close: Statement
    private let noteMet: Statement
    private let insertMet: RowStatement
    private let newest: Statement
    private let noteClosed: Statement
    private let insertClosed: Statement
    /// The names of the columns of cells, as JSON.
    private var columnNames: [Cell: String] = [:]

    private struct Cell: Hashable {
        let entity: Int
        let cell: Int
    }

    /// The parameters of the INSERTs, in the order of the columns.
    private enum Parameter {
        static let columns = """
            uid, cell, replica, number, entity, columns, reason, value, key, met_replica,
            met_number, opened
            """
        static let uid: Int32 = 1
        static let cell: Int32 = 2
        static let replica: Int32 = 3
        static let number: Int32 = 4
        static let entity: Int32 = 5
        static let columnNames: Int32 = 6
        static let reason: Int32 = 7
        static let value: Int32 = 8
        static let key: Int32 = 9
        static let metReplica: Int32 = 10
        static let metNumber: Int32 = 11
        static let opened: Int32 = 12
        static let id: Int32 = 13
    }

    /// The columns of every SELECT.
    private enum Column {
        static let list = """
            id, uid, cell, replica, number, reason, value, met_replica, met_number, entity,
            columns, key, closed IS NULL,
            (SELECT met FROM syncd_side WHERE conflict = id),
            (SELECT replica FROM syncd_side WHERE conflict = id),
            (SELECT number FROM syncd_side WHERE conflict = id),
            (SELECT closed FROM syncd_side WHERE conflict = id)
            """
        static let id: Int32 = 0
        static let uid: Int32 = 1
        static let cell: Int32 = 2
        static let replica: Int32 = 3
        static let number: Int32 = 4
        static let reason: Int32 = 5
        static let value: Int32 = 6
        static let metReplica: Int32 = 7
        static let metNumber: Int32 = 8
        static let entity: Int32 = 9
        static let columnNames: Int32 = 10
        static let key: Int32 = 11
        static let isOpen: Int32 = 12
        static let metValue: Int32 = 13
        static let closerReplica: Int32 = 14
        static let closerNumber: Int32 = 15
        static let closedValue: Int32 = 16
    }

    init(_ connection: OpaquePointer, replicas: ReplicaNames) throws {
        self.connection = connection
        self.replicas = replicas
        let open = "SELECT \(Column.list) FROM syncd_conflict WHERE closed IS NULL"
        selectOpen = try Statement(open, on: connection)
        selectOpenOf = try Statement(open + " AND uid = ?1", on: connection)
        hasOpen = try Statement(
            "SELECT 1 FROM syncd_conflict WHERE uid = ?1 AND closed IS NULL", on: connection)
        selectHidden = try Statement(
            "SELECT 1 FROM syncd_conflict WHERE uid = ?1 AND closed IS NULL AND reason = ?2",
            on: connection)
        countOpen = try Statement(
            "SELECT count(*) FROM (SELECT 1 FROM syncd_conflict WHERE closed IS NULL LIMIT ?1)",
            on: connection)
        let isKnown = """
            ON CONFLICT(uid, cell, replica, number) DO UPDATE SET reason = excluded.reason,
              value = excluded.value, key = coalesce(excluded.key, key),
              met_replica = excluded.met_replica, met_number = excluded.met_number,
              closed = NULL
            """
        insert = try Statement(
            """
            INSERT INTO syncd_conflict(\(Parameter.columns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \(isKnown)
            """, on: connection)
        insertNew = try RowStatement(width: 13, on: connection) { rows in
            """
            INSERT INTO syncd_conflict(\(Parameter.columns), id)
            SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13 FROM \(rows)
            WHERE true ON CONFLICT DO NOTHING
            """
        }
        newest = try Statement("SELECT max(id) FROM syncd_conflict", on: connection)
        insertClosed = try Statement(
            """
            INSERT OR IGNORE INTO syncd_conflict(\(Parameter.columns), closed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)
            """, on: connection)
        noteMet = try Statement(
            """
            INSERT OR REPLACE INTO syncd_side(conflict, met) SELECT id, ?5 FROM syncd_conflict
            WHERE uid = ?1 AND cell = ?2 AND replica = ?3 AND number = ?4
            """, on: connection)
        insertMet = try RowStatement(width: 2, on: connection) { rows in
            "INSERT OR REPLACE INTO syncd_side(conflict, met) SELECT c1, c2 FROM \(rows)"
        }
        noteClosed = try Statement(
            """
            INSERT INTO syncd_side(conflict, replica, number, closed) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(conflict) DO UPDATE SET replica = excluded.replica,
              number = excluded.number, closed = excluded.closed
            """, on: connection)
        close = try Statement("UPDATE syncd_conflict SET closed = ?2 WHERE id = ?1", on: connection)
    }

    // MARK: Reading

    /// One row of the log.
    struct Row {
        let id: Int64
        /// The fact that is not shown.
        let version: VersionID
        /// ``ConflictReason``; nil for one that this version does not know.
        let reason: ConflictReason?
        /// The fields of the fact, as ``RecordCoding`` writes them.
        let value: [UInt8]
        /// The fact that is shown instead.
        let met: Dot?
        let entity: String
        /// The columns of the cell, as JSON; see ``ConflictStorage/columns(from:)``.
        let columnNames: String
        /// The key that the object had when the entry was written.
        let key: Value
        let isOpen: Bool
        /// The fields that were shown instead, when the entry was written; nil: not known, or none.
        let metValue: [UInt8]?
        /// The fact that closed it; nil: not known.
        let closer: Dot?
        /// The fields that were shown when it was closed; nil: not known, or none.
        let closedValue: [UInt8]?
    }

    /// The log, oldest first.
    /// - Parameter open: true: the open entries; false: the closed ones; nil: all.
    /// - Throws: as every method here: SQLite errors; `corrupt` naming a row that cannot be
    ///   read.
    /// - Complexity: O(conflicts)
    func rows(open: Bool?) throws -> [Row] {
        let condition = open.map { "WHERE closed IS \($0 ? "" : "NOT ")NULL" } ?? ""
        let select = try Statement(
            "SELECT \(Column.list) FROM syncd_conflict \(condition) ORDER BY id", on: connection)
        var rows: [Row] = []
        while try select.step() { rows.append(try row(select)) }
        return rows
    }

    /// The fact of an entry; nil when there is no such entry.
    func version(ofConflict id: Int64) throws -> VersionID? {
        let select = try Statement(
            "SELECT \(Column.list) FROM syncd_conflict WHERE id = ?1", on: connection)
        select.bind(id, at: 1)
        return try select.step() ? try row(select).version : nil
    }

    /// Whether an object is kept out of the tables: then its facts are open conflicts for this
    /// reason.
    func isHidden(_ uid: ObjectUID) throws -> Bool {
        selectHidden.bind(uid.bytes, at: 1)
        selectHidden.bind(ConflictReason.hidden.rawValue, at: 2)
        defer { selectHidden.reset() }
        return try selectHidden.step()
    }

    /// The open conflicts about the cells of an object: the newest entry of each cell.
    func open(of uid: ObjectUID) throws -> [Int: Int64] {
        var open: [Int: Int64] = [:]
        selectOpenOf.bind(uid, at: 1)
        while try selectOpenOf.step() {
            let row = try row(selectOpenOf)
            open[row.version.cell] = max(row.id, open[row.version.cell] ?? row.id)
        }
        return open
    }

    /// The open conflicts.
    /// - Complexity: O(open conflicts)
    func open() throws -> Set<VersionID> {
        var open: Set<VersionID> = []
        while try selectOpen.step() { open.insert(try row(selectOpen).version) }
        return open
    }

    /// Whether a conflict is open.
    func isAnyOpen() throws -> Bool {
        countOpen.bind(Int64(1), at: 1)
        defer { countOpen.reset() }
        return try countOpen.step() && countOpen.integer(0) > 0
    }

    /// Whether a conflict of an object is open.
    func isOpen(_ uid: ObjectUID) throws -> Bool {
        hasOpen.bind(uid, at: 1)
        defer { hasOpen.reset() }
        return try hasOpen.step()
    }

    /// The open conflicts of objects. One query for all of them where there are few conflicts.
    private func open(of objects: Dictionary<ObjectUID, ObjectRecord>.Keys) throws
        -> [VersionID: Row]
    {
        var open: [VersionID: Row] = [:]
        countOpen.bind(Int64(objects.count) + 1, at: 1)
        defer { countOpen.reset() }
        guard try countOpen.step(), countOpen.integer(0) > 0 else { return open }
        if countOpen.integer(0) <= Int64(objects.count) {
            while try selectOpen.step() {
                let row = try row(selectOpen)
                if objects.contains(row.version.object) { open[row.version] = row }
            }
            return open
        }
        for uid in objects {
            selectOpenOf.bind(uid, at: 1)
            while try selectOpenOf.step() {
                let row = try row(selectOpenOf)
                open[row.version] = row
            }
        }
        return open
    }

    private func row(_ row: Statement) throws -> Row {
        let id = row.integer(Column.id)
        guard let uid = ObjectUID(bytes: row.blob(Column.uid) ?? []) else {
            row.reset()
            throw SyncError(
                .corrupt, "the row \(id) of syncd_conflict has an identity without 16 bytes")
        }
        let dot = Dot(
            try replicas.name(of: row.integer(Column.replica)), row.integer(Column.number))
        let met = try row.integerOrNil(Column.metReplica).map {
            Dot(try replicas.name(of: $0), row.integer(Column.metNumber))
        }
        let closer = try row.integerOrNil(Column.closerReplica).map {
            Dot(try replicas.name(of: $0), row.integer(Column.closerNumber))
        }
        return Row(
            id: id, version: VersionID(uid, cell: Int(row.integer(Column.cell)), dot: dot),
            reason: ConflictReason(rawValue: row.text(Column.reason) ?? ""),
            value: row.blob(Column.value) ?? [], met: met, entity: row.text(Column.entity) ?? "",
            columnNames: row.text(Column.columnNames) ?? "[]", key: row.value(Column.key),
            isOpen: row.integer(Column.isOpen) != 0, metValue: row.blob(Column.metValue),
            closer: closer, closedValue: row.blob(Column.closedValue))
    }

    /// The names in ``Row/columnNames``; none where they cannot be read.
    static func columns(from json: String) -> [String] {
        (try? JSONDecoder().decode([String].self, from: Data(json.utf8))) ?? []
    }

    /// The transactions that the log names.
    /// - Complexity: O(conflicts)
    func dots() throws -> Set<Dot> {
        let select = try Statement(
            "SELECT replica, number, met_replica, met_number FROM syncd_conflict", on: connection)
        var dots: Set<Dot> = []
        while try select.step() {
            dots.insert(Dot(try replicas.name(of: select.integer(0)), select.integer(1)))
            if let met = select.integerOrNil(2) {
                dots.insert(Dot(try replicas.name(of: met), select.integer(3)))
            }
        }
        let closers = try Statement(
            "SELECT replica, number FROM syncd_side WHERE replica NOT NULL", on: connection)
        while try closers.step() {
            dots.insert(Dot(try replicas.name(of: closers.integer(0)), closers.integer(1)))
        }
        return dots
    }

    // MARK: Writing

    /// Makes the open entries of the objects of a state those of its view. Entries of other objects
    /// are not changed.
    /// - Parameters:
    ///   - keys: the key of each row of the view, by the identity that it is shown under.
    ///   - formerKey: the key that an object without a row had, or has at the sender of a batch.
    ///   - number: the local transaction that is being written.
    /// - Complexity: O(objects of the state)
    func update(
        from view: View, of state: MergeState, keys: [ObjectUID: [Value]],
        formerKey: (ObjectUID) -> [Value]?, number: Int64
    ) throws {
        var open = try open(of: state.objects.keys)
        for (id, conflict) in view.conflicts.sorted(by: { $0.key < $1.key }) {
            let known = open.removeValue(forKey: id)
            guard let record = state.objects[id.object] else { continue }
            let entry = Entry(
                id: id, entity: record.entity, reason: conflict.reason,
                value: Self.encoded(conflict.value),
                key: view.shownAs[id.object].flatMap { keys[$0] } ?? keys[id.object]
                    ?? formerKey(id.object),
                met: Self.shownInstead(of: id, in: view, record: record))
            if let known, known.reason == entry.reason, known.value == entry.value,
                known.met == entry.met, Self.key(of: entry) ?? known.key == known.key
            {
                continue
            }
            try write(entry, with: insert, schema: state.schema, number: number)
            try note(
                Self.shownFields(of: id, in: view, schema: state.schema).map(Self.encoded),
                instead: id)
        }
        for known in open.values.sorted(by: { $0.id < $1.id }) {
            try close.run(.integer(known.id), .integer(number))
            let closer = Self.closer(of: known.version, in: state)
            let shown = Self.shownFields(of: known.version, in: view, schema: state.schema)
            try noteClosed.run(
                .integer(known.id),
                try closer.map { .integer(try replicas.number(of: $0.replica)) } ?? .null,
                closer.map { .integer($0.number) } ?? .null,
                shown.map { .blob(Self.encoded($0)) } ?? .null)
        }
    }

    /// A conflict of an object that has no open one.
    struct Opening {
        let entry: Entry
        /// What its row shows in the cell, as ``encoded(_:)`` makes it.
        let shown: [UInt8]
    }

    /// Opens conflicts.
    /// - Parameter number: the local transaction that is being written.
    func open(_ openings: [Opening], schema: MergeSchema, number: Int64) throws {
        if try insertedNew(openings, schema: schema, number: number) { return }
        for opening in openings {
            try write(opening.entry, with: insert, schema: schema, number: number)
            try note(opening.shown, instead: opening.entry.id)
        }
    }

    /// Opens conflicts that the log has no entries of, all by two statements.
    /// - Returns: false where it has a closed entry of one of them, or no numbers for them.
    private func insertedNew(
        _ openings: [Opening], schema: MergeSchema, number: Int64
    ) throws -> Bool {
        insertNew.removeRows()
        insertMet.removeRows()
        var id = try newestID()
        guard id < .max - Int64(openings.count) else { return false }
        for opening in openings {
            id += 1
            insertNew.addRow()
            try bind(opening.entry, to: insertNew, schema: schema, number: number)
            insertNew.bind(id, at: Parameter.id)
            insertMet.addRow()
            insertMet.bind(id, at: 1)
            insertMet.bind(opening.shown, at: 2)
        }
        guard try insertNew.runUnlessRefused() else {
            insertMet.removeRows()
            return false
        }
        try insertMet.run()
        return true
    }

    /// 0: the log is empty.
    private func newestID() throws -> Int64 {
        defer { newest.reset() }
        return try newest.step() ? newest.integer(0) : 0
    }

    private func note(_ fields: [UInt8]?, instead id: VersionID) throws {
        try noteMet.run(
            .blob(id.object.bytes), .integer(Int64(id.cell)),
            .integer(try replicas.number(of: id.dot.replica)), .integer(id.dot.number),
            fields.map(Value.blob) ?? .null)
    }

    /// What the row of an object shows in the cell of a fact; nil without a row.
    private static func shownFields(
        of id: VersionID, in view: View, schema: MergeSchema
    ) -> [Field]? {
        guard let row = view.shownAs[id.object].flatMap({ view.rows[$0] }) else { return nil }
        let cells = schema.entities[row.entity].cells
        return cells.indices.contains(id.cell) ? cells[id.cell].map { row.fields[$0] } : nil
    }

    /// The fact whose writer had seen a fact, and that took its place; nil where there is none:
    /// the fact is shown now.
    private static func closer(of id: VersionID, in state: MergeState) -> Dot? {
        guard let record = state.objects[id.object] else { return nil }
        let isCell = record.cells.indices.contains(id.cell)
        let cells = isCell ? record.cells[id.cell].map(\.dot) : []
        let later = (cells + record.life.map(\.dot)).filter {
            $0 != id.dot && state.isSeen(id.dot, by: $0)
        }
        return later.isEmpty ? nil : state.newest(of: later, dot: \.self, name: \.self)
    }

    /// The fact that is shown instead: of the same cell, or the delete that ended the object.
    private static func shownInstead(
        of id: VersionID, in view: View, record: ObjectRecord
    ) -> Dot? {
        if id.cell >= 0, let host = view.shownAs[id.object], let row = view.rows[host] {
            return row.sources[id.cell]?.dot
        }
        return record.life.filter { $0.kind == .deleted }.map(\.dot).max()
    }

    /// An entry to be written.
    struct Entry {
        let id: VersionID
        /// Position of the entity in the schema.
        let entity: Int
        let reason: ConflictReason
        /// The fields of the fact, as ``ConflictStorage/encoded(_:)`` makes them.
        let value: [UInt8]
        let key: [Value]?
        /// The fact that is shown instead.
        let met: Dot?
    }

    /// Writes a closed entry, unless the log has one of the same fact.
    /// - Parameter number: the local transaction that is being written.
    func writeClosed(_ entry: Entry, schema: MergeSchema, number: Int64) throws {
        try write(entry, with: insertClosed, schema: schema, number: number)
    }

    private func write(
        _ entry: Entry, with insert: Statement, schema: MergeSchema, number: Int64
    ) throws {
        try bind(entry, to: insert, schema: schema, number: number)
        try insert.run()
    }

    private func bind(
        _ entry: Entry, to insert: some ValueBinding, schema: MergeSchema, number: Int64
    ) throws {
        insert.bind(entry.id.object, at: Parameter.uid)
        insert.bind(Int64(entry.id.cell), at: Parameter.cell)
        insert.bind(try replicas.number(of: entry.id.dot.replica), at: Parameter.replica)
        insert.bind(entry.id.dot.number, at: Parameter.number)
        insert.bind(schema.entities[entry.entity].name, at: Parameter.entity)
        insert.bind(
            try columnNames(of: Cell(entity: entry.entity, cell: entry.id.cell), in: schema),
            at: Parameter.columnNames)
        insert.bind(entry.reason.rawValue, at: Parameter.reason)
        insert.bind(entry.value, at: Parameter.value)
        insert.bind(Self.key(of: entry) ?? .null, at: Parameter.key)
        if let met = entry.met {
            insert.bind(try replicas.number(of: met.replica), at: Parameter.metReplica)
            insert.bind(met.number, at: Parameter.metNumber)
        } else {
            insert.bindNull(Parameter.metReplica)
            insert.bindNull(Parameter.metNumber)
        }
        insert.bind(number, at: Parameter.opened)
    }

    private static func key(of entry: Entry) -> Value? {
        entry.key.map { StoredKey.value(of: $0, as: .packed) }
    }

    /// The fields of a fact as `syncd_conflict.value` holds them.
    static func encoded(_ fields: [Field]) -> [UInt8] {
        var writer = ByteWriter()
        for field in fields { RecordCoding.append(field, to: &writer) }
        return writer.bytes
    }

    private func columnNames(of cell: Cell, in schema: MergeSchema) throws -> String {
        if let known = columnNames[cell] { return known }
        let names = try Self.columnNames(
            ofCell: cell.cell, in: schema.entities[cell.entity])
        columnNames[cell] = names
        return names
    }

    /// The identities of the columns of a cell, as ``Row/columnNames``; none of a life.
    static func columnNames(ofCell cell: Int, in entity: MergeEntity) throws -> String {
        let columns = cell < 0 ? [] : entity.cells[cell].map { entity.columns[$0].name }
        return String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)
    }

    /// Deletes entries.
    func remove(_ ids: [Int64]) throws {
        let delete = try Statement("DELETE FROM syncd_conflict WHERE id = ?1", on: connection)
        let deleteSide = try Statement("DELETE FROM syncd_side WHERE conflict = ?1", on: connection)
        for id in ids {
            try delete.run(.integer(id))
            try deleteSide.run(.integer(id))
        }
    }

    /// Names another replica as the writer of its transactions after a number.
    /// - Complexity: O(conflicts)
    func rename(from old: ReplicaID, to new: ReplicaID, after number: Int64) throws {
        for (replica, column) in [("replica", "number"), ("met_replica", "met_number")] {
            try Statement(
                """
                UPDATE syncd_conflict SET \(replica) = ?1 WHERE \(replica) = ?2 AND \(column) > ?3
                """, on: connection
            ).run(
                .integer(try replicas.number(of: new)), .integer(try replicas.number(of: old)),
                .integer(number))
        }
        try Statement(
            "UPDATE syncd_side SET replica = ?1 WHERE replica = ?2 AND number > ?3", on: connection
        ).run(
            .integer(try replicas.number(of: new)), .integer(try replicas.number(of: old)),
            .integer(number))
    }
}
