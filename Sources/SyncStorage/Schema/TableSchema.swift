import SyncValues

/// What a table of the user's database is: everything that capture and merging need to know.
public struct TableSchema: Sendable, Hashable {
    /// What sort of thing bears the name.
    public enum Kind: Sendable, Hashable {
        case table, view, virtual
        /// A table in which a virtual table keeps its data.
        case shadow
        /// SQLite's own: `sqlite_…`.
        case system
    }

    /// The name as the schema spells it.
    public var name: String
    /// What sort of thing bears the name.
    public var kind: Kind
    /// All columns in order, generated ones too.
    public var columns: [ColumnSchema]
    /// The columns of the declared PRIMARY KEY, in key order; empty when none is declared.
    public var key: [String]
    /// The key is one column that is the rowid: declared exactly INTEGER PRIMARY KEY.
    public var isIntegerKey: Bool
    /// Declared WITHOUT ROWID.
    public var isWithoutRowID: Bool
    /// Declared STRICT.
    public var isStrict: Bool
    /// Every UNIQUE index, that of a key that is not the rowid too.
    public var uniqueIndexes: [UniqueIndex]
    /// The references to other tables.
    public var foreignKeys: [ForeignKeySchema]
    /// The SQL text inside each CHECK, of columns and of the table.
    public var checks: [String]
    /// The CREATE statement.
    public var sql: String

    /// The columns that writers give values to; the position of one is its bit in masks.
    public var storedColumns: [ColumnSchema] {
        columns.filter { $0.storage == .ordinary }
    }

    /// The column of that name, as SQLite compares names.
    /// - Complexity: O(columns).
    public func column(_ name: String) -> ColumnSchema? {
        columns.first { SQLName.equal($0.name, name) }
    }

    /// A name by which SQL reaches the rowid; nil when there is none, or the table's own columns
    /// have taken all three.
    package var rowIDName: String? {
        if isWithoutRowID { return nil }
        return Self.rowIDNames.first { column($0) == nil }
    }

    /// The names SQLite gives to the rowid where no column has them.
    package static let rowIDNames = ["rowid", "_rowid_", "oid"]

    package var keyColumns: [ColumnSchema] { key.compactMap { column($0) } }

    /// The UNIQUE indexes besides the key's.
    public var alternateKeys: [UniqueIndex] { uniqueIndexes.filter { $0.origin != .primaryKey } }
}
