import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Reads the conflict log for people.
struct ConflictReader {
    private let connection: OpaquePointer
    private let prepared: MergeSession.Prepared
    private let keyOf: Statement

    init(_ connection: OpaquePointer, _ prepared: MergeSession.Prepared) throws {
        self.connection = connection
        self.prepared = prepared
        keyOf = try Statement(connection, "SELECT key, number FROM syncd_object WHERE uid = ?1")
    }

    /// The conflicts, oldest first.
    /// - Parameter open: true: the open ones; false: the closed ones; nil: all.
    func conflicts(open: Bool?) throws -> [MergeConflict] {
        let condition = open.map { "WHERE closed IS \($0 ? "" : "NOT ")NULL" } ?? ""
        let select = try Statement(
            connection,
            """
            SELECT id, uid, replica, number, entity, columns, reason, value, key, met_replica,
              met_number, closed IS NULL
            FROM syncd_conflict \(condition) ORDER BY id
            """)
        var conflicts: [MergeConflict] = []
        while try select.step() { conflicts.append(try conflict(select)) }
        return conflicts
    }

    private func conflict(_ row: Statement) throws -> MergeConflict {
        let entity = row.text(4) ?? ""
        let columns =
            (try? JSONDecoder().decode([String].self, from: Data((row.text(5) ?? "[]").utf8)))
            ?? []
        var key: [Value]?
        if let uid = ObjectUID(bytes: row.blob(1) ?? []) { key = try self.key(of: uid) }
        if key == nil, let packed = row.blob(8) {
            key = try StoredObject.key(stored: .blob(packed))
        }
        var met: Dot?
        if let replica = row.integerOrNil(9) {
            met = Dot(try prepared.replicas.name(of: replica), row.integer(10))
        }
        let dot = Dot(try prepared.replicas.name(of: row.integer(2)), row.integer(3))
        return MergeConflict(
            id: row.integer(0), entity: entity,
            key: key.flatMap { $0.isEmpty ? nil : ObjectKey($0) }, properties: columns,
            reason: MergeConflict.Reason(rawValue: row.text(6) ?? "") ?? .lost,
            losing: try side(dot, try values(row.blob(7) ?? [], columns)),
            shown: try side(met, try present(entity, key, columns)),
            isOpen: row.integer(11) != 0)
    }

    /// Who wrote a transaction, and when.
    private final class Writers {
        var known: [Dot: (author: String?, time: Timestamp)?] = [:]
    }

    private let writers = Writers()

    private func side(_ dot: Dot?, _ values: NamedValues) throws -> MergeConflict.Side {
        let writer = try dot.flatMap(writer)
        return MergeConflict.Side(
            values: values, author: writer?.author, time: writer?.time, replica: dot?.replica)
    }

    private func writer(_ dot: Dot) throws -> (author: String?, time: Timestamp)? {
        if let known = writers.known[dot] { return known }
        let writer = try prepared.headers.details(dot).map { header, details in
            (
                try HeaderDetails.author(details),
                Timestamp(milliseconds: header.time.milliseconds)
            )
        }
        writers.known[dot] = .some(writer)
        return writer
    }

    /// The values of a version, references as the keys that their targets have here.
    private func values(_ bytes: [UInt8], _ columns: [String]) throws -> NamedValues {
        var reader = ByteReader(bytes)
        return NamedValues(
            try columns.map { name in
                switch try RecordCoding.field(&reader) {
                case .value(let value): return .init(name: name, value: value)
                case .reference(let uid, let part):
                    let key = try key(of: uid)
                    let value = key.flatMap { part < $0.count ? $0[part] : nil }
                    return .init(name: name, value: value ?? .null)
                }
            })
    }

    private func key(of uid: ObjectUID) throws -> [Value]? {
        keyOf.bind(1, uid.bytes)
        defer { keyOf.reset() }
        guard try keyOf.step() else { return nil }
        return try StoredObject.key(stored: keyOf.value(0))
            ?? keyOf.integerOrNil(1).map { [.integer($0)] }
    }

    /// The values that the row has now.
    private func present(
        _ entity: String, _ key: [Value]?, _ columns: [String]
    ) throws -> NamedValues {
        guard let key, let position = prepared.schema.position(of: entity) else {
            return NamedValues([])
        }
        let table = prepared.schema.tables[position]
        let select = try prepared.statements.statement(table.selectOne)
        select.bind(key)
        defer { select.reset() }
        guard key.count == table.key.count, try select.step() else { return NamedValues([]) }
        return NamedValues(
            columns.compactMap { name in
                prepared.schema.column(name, of: position).map {
                    .init(name: name, value: select.value(Int32($0)))
                }
            })
    }
}
