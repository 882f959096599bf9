import SyncMerge
import SyncValues

/// A row of an unrecorded store that a constraint of its own table refuses: it was written with
/// `PRAGMA ignore_check_constraints`, or before the constraint was there; or the constraint depends
/// on a number that each replica has of its own.
///
/// No facts show such a row: each replica would hide it, also the one that has it. So the first
/// statement of the store is refused, and names the row.
struct RefusedRow {
    private let table: MergedTable
    private let key: [Value]
    private let constraint: String
    /// The table whose numbers the constraint depends on; nil: the values refuse the row.
    private let numbered: String?

    /// - Parameter fields: the row as facts have it, and as a CHECK sees it.
    /// - Returns: nil where nothing refuses the row.
    init?(
        _ row: [Value], as fields: (stated: [Field], visible: [Field]), of position: Int,
        in schema: ReplicaSchema
    ) {
        let entity = schema.merge.entities[position]
        guard entity.mayRefuse,
            entity.accepted(fields.visible, isReference: { fields.stated[$0].target != nil })
                == nil,
            let refusal = entity.refusal(of: fields.visible)
        else { return nil }
        table = schema.tables[position]
        key = table.key.map { row[$0] }
        switch refusal {
        case .check(let place):
            let words = table.checks[place].split(whereSeparator: \.isWhitespace)
            constraint = "CHECK (\(words.joined(separator: " ")))"
            let values = row.map(Field.value)
            numbered =
                entity.refusal(of: values) == nil
                ? Self.numbered(in: entity.checks[place].columns, of: position, in: schema) : nil
        case .column(let column):
            let isMissing = fields.visible[column].isNull
            constraint = "\(isMissing ? "NOT NULL" : "type") of \(table.columns[column])"
            numbered = nil
        }
    }

    /// The table that has the private number which one of the columns holds.
    private static func numbered(
        in columns: [Int], of position: Int, in schema: ReplicaSchema
    ) -> String? {
        let entity = schema.merge.entities[position]
        if entity.hasPrivateNumbers, columns.contains(entity.key[0]) {
            return schema.tables[position].name
        }
        let reference = entity.references.first { reference in
            schema.merge.entities[reference.target].hasPrivateNumbers
                && reference.columns.contains(where: columns.contains)
        }
        return reference.map { schema.tables[$0.target].name }
    }

    /// What is wrong with which row, and what to do.
    var error: SyncError {
        let row = "row \(key.map(\.description).joined(separator: ", ")) of \(table.name)"
        if let numbered {
            return SyncError(
                .refused,
                "the \(constraint) of \(table.name) depends on the numbers of \(numbered), which "
                    + "each replica chooses for itself: \(row) would not be shown",
                hint: "Change the CHECK, or make equal numbers the same row everywhere: "
                    + "synctool policy DB \(numbered) --identity key")
        }
        return SyncError(
            .refused,
            "\(row) breaks the table's own constraint, \(constraint): no replica would show it",
            hint: "Correct the row, or change the constraint. All rows of this kind are listed by: "
                + "sqlite3 DB 'PRAGMA integrity_check'")
    }

    /// The first of these rows in the order of the tables; nil where none is found.
    /// - Parameter numbered: the identity of a row whose key is a number that does not identify.
    /// - Throws: SQLite errors.
    /// - Complexity: O(rows of the store)
    static func first(
        in storage: ReplicaStorage, numbered: @escaping (RowKey) -> ObjectUID
    ) throws -> RefusedRow? {
        let identities = RowIdentities(storage, numbered: numbered)
        for (position, table) in storage.schema.tables.enumerated()
        where storage.schema.merge.entities[position].mayRefuse {
            let select = try storage.statements.statement(table.selectInOrder)
            defer { select.reset() }
            while try select.step() {
                let row = table.columns.indices.map { select.value(Int32($0)) }
                // Of a row whose identity cannot be told nothing is known here.
                guard let fields = try? identities.fields(of: row, entity: position),
                    let refused = RefusedRow(row, as: fields, of: position, in: storage.schema)
                else { continue }
                return refused
            }
        }
        return nil
    }
}
