import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_conflict`: the log of what is current and not shown. Open while it is so; closed ones are
/// kept, with the local transaction after which they were gone.
final class ConflictStorage {
    private let replicas: ReplicaNames
    private let selectOpen: Statement
    private let selectOpenOf: Statement
    private let countOpen: Statement
    private let insert: Statement
    private let close: Statement
    private let insertClosed: Statement
    /// The names of the columns of cells, as JSON.
    private var columnNames: [Cell: String] = [:]

    private struct Cell: Hashable {
        let entity: Int
        let cell: Int
    }

    init(_ connection: OpaquePointer, _ replicas: ReplicaNames) throws {
        self.replicas = replicas
        let open = """
            SELECT id, uid, cell, replica, number, reason, value, met_replica, met_number
            FROM syncd_conflict WHERE closed IS NULL
            """
        selectOpen = try Statement(connection, open)
        selectOpenOf = try Statement(connection, open + " AND uid = ?1")
        countOpen = try Statement(
            connection,
            "SELECT count(*) FROM (SELECT 1 FROM syncd_conflict WHERE closed IS NULL LIMIT ?1)")
        insert = try Statement(
            connection,
            """
            INSERT INTO syncd_conflict(uid, cell, replica, number, entity, columns, reason, value,
              key, met_replica, met_number, opened)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            ON CONFLICT(uid, cell, replica, number) DO UPDATE SET reason = excluded.reason,
              value = excluded.value, key = coalesce(excluded.key, key),
              met_replica = excluded.met_replica, met_number = excluded.met_number,
              closed = NULL
            """)
        insertClosed = try Statement(
            connection,
            """
            INSERT OR IGNORE INTO syncd_conflict(uid, cell, replica, number, entity, columns,
              reason, value, key, met_replica, met_number, opened, closed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12)
            """)
        close = try Statement(connection, "UPDATE syncd_conflict SET closed = ?2 WHERE id = ?1")
    }

    /// What is known of an open conflict.
    private struct Open {
        let id: Int64
        let reason: String
        let value: [UInt8]
        let met: Dot?
    }

    /// The open conflicts.
    func open() throws -> Set<VersionID> {
        var open: Set<VersionID> = []
        while try selectOpen.step() {
            guard let uid = ObjectUID(bytes: selectOpen.blob(1) ?? []) else { continue }
            let dot = Dot(try replicas.name(of: selectOpen.integer(3)), selectOpen.integer(4))
            open.insert(VersionID(uid, cell: Int(selectOpen.integer(2)), dot: dot))
        }
        return open
    }

    /// The open conflicts of objects, whose other ones do not count.
    private func open(of objects: Dictionary<ObjectUID, ObjectRecord>.Keys) throws
        -> [VersionID: Open]
    {
        var open: [VersionID: Open] = [:]
        countOpen.bind(1, Int64(objects.count) + 1)
        defer { countOpen.reset() }
        guard try countOpen.step(), countOpen.integer(0) > 0 else { return open }
        if countOpen.integer(0) <= Int64(objects.count) {
            while try selectOpen.step() {
                let (id, conflict) = try read(selectOpen)
                if objects.contains(id.object) { open[id] = conflict }
            }
            return open
        }
        for uid in objects {
            selectOpenOf.bind(1, uid.bytes)
            while try selectOpenOf.step() {
                let (id, conflict) = try read(selectOpenOf)
                open[id] = conflict
            }
        }
        return open
    }

    private func read(_ row: Statement) throws -> (VersionID, Open) {
        guard let uid = ObjectUID(bytes: row.blob(1) ?? []) else {
            throw SyncError(.corrupt, "the identity of a conflict's object has not 16 bytes")
        }
        let dot = Dot(try replicas.name(of: row.integer(3)), row.integer(4))
        var met: Dot?
        if let number = row.integerOrNil(7) {
            met = Dot(try replicas.name(of: number), row.integer(8))
        }
        let open = Open(
            id: row.integer(0), reason: row.text(5) ?? "", value: row.blob(6) ?? [], met: met)
        return (VersionID(uid, cell: Int(row.integer(2)), dot: dot), open)
    }

    /// Makes the log tell what a view does not show. Conflicts of objects that are not in it are
    /// left alone.
    /// - Parameter number: the local transaction that is being written.
    /// - Complexity: O(objects of the state)
    func update(
        _ view: View, _ state: MergeState, keys: [ObjectUID: [Value]], number: Int64
    ) throws {
        var open = try open(of: state.objects.keys)
        for (id, conflict) in view.conflicts.sorted(by: { $0.key < $1.key }) {
            let known = open.removeValue(forKey: id)
            var writer = ByteWriter()
            for field in conflict.value { RecordCoding.append(field, &writer) }
            let met = Self.met(id, view, state)
            if let known, known.reason == conflict.reason.rawValue, known.value == writer.bytes,
                known.met == met
            {
                continue
            }
            try write(id, conflict, writer.bytes, met, view, state, keys, number)
        }
        for known in open.values.sorted(by: { $0.id < $1.id }) {
            try close.run(.integer(known.id), .integer(number))
        }
    }

    /// The fact that is shown instead: of the same cell, or the delete that ended the object.
    private static func met(_ id: VersionID, _ view: View, _ state: MergeState) -> Dot? {
        guard let record = state.objects[id.object] else { return nil }
        if id.cell >= 0, let host = view.shownAs[id.object], let row = view.rows[host] {
            if let source = row.sources[id.cell] { return source.dot }
            return nil
        }
        return record.life.filter { $0.kind == .deleted }.map(\.dot).max()
    }

    private func write(
        _ id: VersionID, _ conflict: Conflict, _ value: [UInt8], _ met: Dot?, _ view: View,
        _ state: MergeState, _ keys: [ObjectUID: [Value]], _ number: Int64
    ) throws {
        guard let record = state.objects[id.object] else { return }
        let entity = state.schema.entities[record.entity]
        insert.bind(1, id.object.bytes)
        insert.bind(2, Int64(id.cell))
        insert.bind(3, try replicas.number(of: id.dot.replica))
        insert.bind(4, id.dot.number)
        insert.bind(5, entity.name)
        insert.bind(6, try names(of: Cell(entity: record.entity, cell: id.cell), entity))
        insert.bind(7, conflict.reason.rawValue)
        insert.bind(8, value)
        let key = view.shownAs[id.object].flatMap { keys[$0] } ?? keys[id.object]
        insert.bind(9, key.map(Self.packed))
        insert.bind(10, try met.map { .integer(try replicas.number(of: $0.replica)) } ?? .null)
        insert.bind(11, met.map { .integer($0.number) } ?? .null)
        insert.bind(12, number)
        try insert.run()
    }

    /// Takes note of a version that was overwritten by somebody who could not see it.
    /// - Parameters:
    ///   - met: the transaction that overwrote it.
    ///   - number: the local transaction that is being written.
    func remember(
        _ id: VersionID, _ value: [Field], of place: Int, _ schema: MergeSchema, key: [Value]?,
        met: Dot, number: Int64
    ) throws {
        var writer = ByteWriter()
        for field in value { RecordCoding.append(field, &writer) }
        insertClosed.bind(1, id.object.bytes)
        insertClosed.bind(2, Int64(id.cell))
        insertClosed.bind(3, try replicas.number(of: id.dot.replica))
        insertClosed.bind(4, id.dot.number)
        insertClosed.bind(5, schema.entities[place].name)
        insertClosed.bind(
            6, try names(of: Cell(entity: place, cell: id.cell), schema.entities[place]))
        insertClosed.bind(7, Conflict.Reason.lost.rawValue)
        insertClosed.bind(8, writer.bytes)
        insertClosed.bind(9, key.map(Self.packed))
        insertClosed.bind(10, try replicas.number(of: met.replica))
        insertClosed.bind(11, met.number)
        insertClosed.bind(12, number)
        try insertClosed.run()
    }

    private func names(of cell: Cell, _ entity: MergeEntity) throws -> String {
        if let known = columnNames[cell] { return known }
        let columns = cell.cell < 0 ? [] : entity.cells[cell.cell].map { entity.columns[$0].name }
        let names = String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)
        columnNames[cell] = names
        return names
    }

    private static func packed(_ key: [Value]) -> [UInt8] {
        var writer = ByteWriter()
        for value in key { writer.append(value) }
        return writer.bytes
    }
}
