import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_shape`: the entities of stored records. A number names an entity permanently; its cells
/// are those of the present schema.
///
/// Confined to its connection's queue; created again when the schema changes.
final class Shapes {
    private let numbers: [Int64]
    private let positions: [Int64: Int]
    private let find: Statement
    private let read: Statement
    private let add: Statement

    /// Reads the table and adds what is new, in the transaction that the connection is in.
    /// - Parameter changed: called for each entity whose records are stored with other cells, with
    ///   its number and these cells.
    /// - Throws: SQLite errors; what `changed` throws.
    init(
        _ connection: OpaquePointer, schema: MergeSchema,
        changed: (_ entity: Int, _ number: Int64, _ cells: [[String]]) throws -> Void
    ) throws {
        let select = try Statement(
            "SELECT id, cells FROM syncd_shape WHERE name = ?1", on: connection)
        let insert = try Statement(
            """
            INSERT INTO syncd_shape(name, private, cells) VALUES (?1, ?2, ?3)
            ON CONFLICT(name) DO UPDATE SET private = excluded.private, cells = excluded.cells
            """, on: connection)
        var numbers: [Int64] = []
        for (position, entity) in schema.entities.enumerated() {
            let name = SQLName.folded(entity.name)
            let cells = Self.cells(entity)
            let text = try Self.text(cells)
            select.bind(name, at: 1)
            let isKnown = try select.step()
            let (number, stored) = (select.integer(0), select.text(1))
            select.reset()
            if isKnown, stored == text {
                numbers.append(number)
                continue
            }
            insert.bind(name, at: 1)
            insert.bind(entity.identityCode, at: 2)
            insert.bind(text, at: 3)
            try insert.run()
            select.bind(name, at: 1)
            _ = try select.step()
            numbers.append(select.integer(0))
            select.reset()
            if isKnown, let stored {
                try changed(position, number, try Self.cells(stored))
            }
        }
        try numbers.forEach(Self.check)
        self.numbers = numbers
        positions = Dictionary(zip(numbers, numbers.indices)) { first, _ in first }
        find = select
        read = try Statement(
            "SELECT name, private, cells FROM syncd_shape WHERE id = ?1", on: connection)
        add = try Statement(
            "INSERT INTO syncd_shape(name, private, cells) VALUES (?1, ?2, ?3)", on: connection)
    }

    private static func cells(_ entity: MergeEntity) -> [[String]] {
        entity.cells.map { $0.map { SQLName.folded(entity.columns[$0].name) } }
    }

    private static func text(_ cells: [[String]]) throws -> String {
        String(decoding: try JSONEncoder().encode(cells), as: UTF8.self)
    }

    /// The number of an entity.
    func number(of entity: Int) -> Int64 { numbers[entity] }

    /// The number of an entity that this schema does not have, so that changes of its objects can
    /// be kept and forwarded; it stays when the table is created. An unknown one is added in the
    /// transaction that the connection is in.
    /// - Returns: the number, and the cells as they are stored.
    /// - Throws: SQLite errors.
    func foreign(_ entity: Batch.Entity) throws -> (number: Int64, cells: [[String]]) {
        let name = SQLName.folded(entity.name)
        if let known = try stored(name) { return known }
        let cells = entity.cells.map { $0.map(SQLName.folded) }
        add.bind(name, at: 1)
        add.bind(Int64(entity.identityCode), at: 2)
        add.bind(try Self.text(cells), at: 3)
        try add.run()
        guard let known = try stored(name) else {
            throw SyncError(.internalFault, "the new row of syncd_shape is not there")
        }
        return known
    }

    private func stored(_ name: String) throws -> (number: Int64, cells: [[String]])? {
        find.bind(name, at: 1)
        defer { find.reset() }
        guard try find.step() else { return nil }
        try Self.check(find.integer(0))
        return (find.integer(0), try Self.cells(find.text(1)))
    }

    /// The entity of a number that this schema does not have; nil when there is none.
    /// - Throws: SQLite errors.
    func foreign(_ number: Int64) throws -> Batch.Entity? {
        read.bind(number, at: 1)
        defer { read.reset() }
        guard try read.step() else { return nil }
        return Batch.Entity(
            name: read.text(0) ?? "", isPrivate: read.integer(1) != 0,
            sharesNumbers: read.integer(1) == 2,
            cells: try Self.cells(read.text(2)))
    }

    private static func cells(_ text: String?) throws -> [[String]] {
        try JSONDecoder().decode([[String]].self, from: Data((text ?? "[]").utf8))
    }

    /// Reads all rows of the table.
    /// - Throws: SQLite errors; `corrupt`, or what the decoder of JSON throws, for damaged rows.
    static func checkAll(_ connection: OpaquePointer) throws {
        let select = try Statement("SELECT id, cells FROM syncd_shape", on: connection)
        while try select.step() {
            try check(select.integer(0))
            _ = try cells(select.text(1))
        }
    }

    /// Lists of changes have a number with two bits more.
    private static func check(_ number: Int64) throws {
        guard 1...Int64.max >> 2 ~= number else {
            throw SyncError(
                .corrupt, "the table syncd_shape has an entity with number \(number)",
                hint: Metadata.startOverHint)
        }
    }

    /// The entity of a number; nil when its table does not exist.
    func position(of number: Int64) -> Int? { positions[number] }

    // MARK: Before a schema is in use

    /// How the entities of stored objects identify rows, by folded name. Asked only after a change
    /// of the schema: it may read all objects.
    struct Stored {
        private let select: Statement

        init(_ connection: OpaquePointer) throws {
            select = try Statement(
                """
                SELECT private FROM syncd_shape WHERE name = ?1
                  AND EXISTS (SELECT 1 FROM syncd_object WHERE shape = syncd_shape.id)
                """, on: connection)
        }

        /// What the key of an entity is, as `syncd_shape.private` has it; nil when no object of it
        /// is stored.
        /// - Throws: SQLite errors.
        func identityCode(_ name: String) throws -> Int64? {
            select.bind(name, at: 1)
            defer { select.reset() }
            return try select.step() ? select.integer(0) : nil
        }
    }
}

extension MergeEntity {
    /// What the key is, as `syncd_shape.private` has it: 0 identifies, 1 a private number, 2 a
    /// shared number.
    var identityCode: Int64 { sharesNumbers ? 2 : isPrivate ? 1 : 0 }
}
