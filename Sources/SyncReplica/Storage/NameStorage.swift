import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_name`: ``SchemaNames`` and ``ForeignNames`` as they are stored: a row for each table
/// (part ''), and one for each column.
///
/// Within the transaction that the connection is in.
struct NameStorage {
    /// In place of a number: the table or column was never here.
    private static let foreign: Int64 = -1

    private let connection: OpaquePointer

    init(_ connection: OpaquePointer) { self.connection = connection }

    /// The stored names; none where the store has none yet.
    /// - Throws: SQLite errors.
    /// - Complexity: O(columns)
    func read() throws -> (own: SchemaNames, foreign: ForeignNames) {
        guard try SchemaReader.hasTable("syncd_name", on: connection) else {
            return (SchemaNames(), ForeignNames())
        }
        let select = try Statement(
            "SELECT entity, part, name, number FROM syncd_name ORDER BY entity, part",
            on: connection)
        var own: [SchemaNames.Entity] = []
        var foreign = ForeignNames()
        while try select.step() {
            let (identity, part) = (select.text(0) ?? "", select.text(1) ?? "")
            let (name, number) = (select.text(2), select.integerOrNil(3))
            switch (part.isEmpty, number == Self.foreign) {
            case (true, true): foreign.set(name, ofEntity: identity)
            case (false, true): foreign.set(name, ofColumn: part, of: identity)
            case (true, false):
                own.append(SchemaNames.Entity(identity: identity, name: name, number: number))
            case (false, false):
                guard own.last?.identity == identity else { continue }
                own[own.count - 1].columns.append(SchemaNames.Column(identity: part, name: name))
            }
        }
        return (SchemaNames(own), foreign)
    }

    /// The identities of tables and columns as they are now.
    /// - Parameter tables: those that are recorded.
    /// - Returns: also what is stored.
    /// - Throws: as ``NameBinding/bound(_:)``.
    /// - Complexity: O(columns)
    func bound(
        _ tables: [TableSchema]
    ) throws -> (names: SchemaNames, stored: SchemaNames, foreign: ForeignNames) {
        let (stored, foreign) = try read()
        let isStated = try Metadata(connection).isStated()
        let former = try stored.entities.isEmpty && isStated ? recorded() : nil
        let names = try NameBinding(
            stored, foreign: foreign, catalog: try EntityCatalog(connection), former: former
        ).bound(tables)
        return (names, stored, foreign)
    }

    /// Replaces the stored names.
    /// - Throws: SQLite errors.
    /// - Complexity: O(columns)
    func write(_ own: SchemaNames, foreign: ForeignNames) throws {
        try Statement("DELETE FROM syncd_name", on: connection).run()
        let insert = try Statement(
            "INSERT OR IGNORE INTO syncd_name(entity, part, name, number) VALUES (?1, ?2, ?3, ?4)",
            on: connection)
        func add(_ entity: String, _ part: String, name: String?, number: Int64?) throws {
            try insert.run(
                .text(entity), .text(part), name.map(Value.text) ?? .null,
                number.map(Value.integer) ?? .null)
        }
        for entity in own.entities {
            try add(entity.identity, "", name: entity.name, number: entity.number)
            for column in entity.columns {
                try add(entity.identity, column.identity, name: column.name, number: nil)
            }
        }
        for item in foreign.entities {
            try add(item.identity, "", name: item.name, number: Self.foreign)
        }
        for (entity, items) in foreign.columns {
            for item in items {
                try add(entity, item.identity, name: item.name, number: Self.foreign)
            }
        }
        // Without renames nothing is lost with the table: identities are the names.
        let settings = Metadata(connection)
        let isNeeded: Int64 = own.sent.isEmpty && foreign.isEmpty ? 0 : 1
        if try settings.integer(.named) != isNeeded {
            try settings.set(.named, to: .integer(isNeeded))
        }
    }

    /// Takes over what the sender of a batch calls what is not here.
    /// - Throws: SQLite errors.
    /// - Complexity: O(columns)
    func note(_ batch: Batch) throws {
        let isSilent = batch.names.isEmpty
        if isSilent, try Metadata(connection).integer(.named) == 0 { return }
        let (own, before) = try read()
        if isSilent, before.isEmpty { return }
        var foreign = before
        foreign.note(batch, own: own)
        if foreign != before { try write(own, foreign: foreign) }
    }

    /// What the records of a store have that did not know identities: columns by entity.
    /// - Throws: SQLite errors; `DecodingError` for cells that are no JSON.
    /// - Complexity: O(entities), and one look for an object of each.
    func recorded() throws -> NameBinding.Former {
        let select = try Statement(
            """
            SELECT name, cells FROM syncd_shape
            WHERE EXISTS (SELECT 1 FROM syncd_object WHERE shape = syncd_shape.id)
            """, on: connection)
        var former: NameBinding.Former = [:]
        while try select.step() {
            let cells = try JSONDecoder().decode(
                [[String]].self, from: Data((select.text(1) ?? "[]").utf8))
            former[select.text(0) ?? ""] = Set(cells.joined())
        }
        return former
    }
}

extension Metadata {
    /// Whether this or another replica has other names for tables or columns than facts have.
    /// - Throws: SQLite errors.
    func isRenamed() throws -> Bool {
        if try value(.renamed) == .integer(1) { return true }
        guard try value(.named) == .integer(1) else { return false }
        return try NameStorage(connection).read().own.sent.contains(where: \.isRenamed)
    }
}
