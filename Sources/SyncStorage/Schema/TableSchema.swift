/// What a table of the user's database is: everything that capture and merging need to know.
package struct TableSchema: Sendable, Hashable {
    /// What sort of thing bears the name.
    package enum Kind: Sendable, Hashable {
        case table, view, virtual
        /// A table in which a virtual table keeps its data.
        case shadow
        /// SQLite's own: `sqlite_…`.
        case system
    }

    /// The name as the schema spells it.
    package var name: String
    /// What sort of thing bears the name.
    package var kind: Kind
    /// All columns in order, generated ones too.
    package var columns: [ColumnSchema]
    /// The columns of the declared PRIMARY KEY, in key order; empty when none is declared.
    package var key: [String]
    /// The key is one column that is the rowid: declared exactly INTEGER PRIMARY KEY.
    package var isIntegerKey: Bool
    /// Declared WITHOUT ROWID.
    package var isWithoutRowID: Bool
    /// Declared STRICT.
    package var isStrict: Bool
    /// Every UNIQUE index, that of a key that is not the rowid too.
    package var uniqueIndexes: [UniqueIndex]
    /// The references to other tables.
    package var foreignKeys: [ForeignKeySchema]
    /// The SQL text inside each CHECK, of columns and of the table.
    package var checks: [String]
    /// The CREATE statement.
    package var sql: String

    /// The columns that writers give values to; the position of one is its bit in masks.
    package var storedColumns: [ColumnSchema] {
        columns.filter { $0.storage == .ordinary }
    }

    /// The column of that name, as SQLite compares names.
    /// - Complexity: O(columns).
    package func column(_ name: String) -> ColumnSchema? {
        columns.first { SQLName.isEqual($0.name, to: name) }
    }

    /// A name by which SQL reaches the rowid; nil when there is none, or the table's own columns
    /// have taken all three.
    package var rowIDName: String? {
        isWithoutRowID ? nil : Self.rowIDNames.first { column($0) == nil }
    }

    /// ``rowIDName`` of a table by name, without reading all of its schema; nil also when there is
    /// no such table.
    /// - Throws: the error of SQLite.
    package static func rowIDName(
        of table: String, on connection: OpaquePointer
    ) throws -> String? {
        let kind = try Statement(
            "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'", on: connection)
        kind.bind(table, at: 1)
        guard try kind.step(), kind.integer(0) == 0 else { return nil }
        kind.reset()
        let columns = try Statement(
            "SELECT lower(name) FROM pragma_table_xinfo(?1)", on: connection)
        columns.bind(table, at: 1)
        var names: Set<String> = []
        while try columns.step() { names.insert(columns.text(0) ?? "") }
        return rowIDNames.first { !names.contains($0) }
    }

    /// The names SQLite gives to the rowid where no column has them.
    package static let rowIDNames = ["rowid", "_rowid_", "oid"]

    package var keyColumns: [ColumnSchema] { key.compactMap { column($0) } }

    /// The UNIQUE indexes besides the key's.
    package var alternateKeys: [UniqueIndex] { uniqueIndexes.filter { $0.origin != .primaryKey } }
    /// The table as it would be without UNIQUE indexes besides the key's.
    package var withoutAlternateKeys: TableSchema {
        var table = self
        table.uniqueIndexes.removeAll { $0.origin != .primaryKey }
        return table
    }

    /// The table with a UNIQUE index besides the key's: its own, or one that it lacks.
    package var withAnAlternateKey: TableSchema {
        guard alternateKeys.isEmpty else { return self }
        var table = self
        table.uniqueIndexes.append(
            UniqueIndex(name: "", origin: .constraint, terms: [], condition: nil))
        return table
    }

    /// The table with these of its stored columns alone, as it was before others were added.
    package func withStoredColumns(_ names: [String]) -> TableSchema {
        let names = Set(names.map(SQLName.folded))
        var table = self
        table.columns.removeAll {
            $0.storage == .ordinary && !names.contains(SQLName.folded($0.name))
        }
        return table
    }
}
