import SyncValues

/// One object of a schema, as the text that made it. A text of another replica is never run
/// unchecked.
package struct SchemaObject: Sendable, Hashable, Codable {
    /// What an object is.
    package enum Kind: UInt8, Sendable, Codable, CaseIterable {
        /// A table that is no virtual table.
        case table
        /// An index that a CREATE INDEX made.
        case index
        /// A view.
        case view
        /// A trigger.
        case trigger
        /// A virtual table, without the tables that it keeps itself.
        case virtualTable

        /// The word for it in messages.
        package var word: String {
            switch self {
            case .table: "table"
            case .index: "index"
            case .view: "view"
            case .trigger: "trigger"
            case .virtualTable: "virtual table"
            }
        }
    }

    /// What it is.
    package var kind: Kind
    /// Its name.
    package var name: String
    /// The table or view that it is on; of tables and views the name.
    package var table: String
    /// The statement that makes it.
    package var sql: String
    /// Whether its rows are synchronised.
    package var isTracked: Bool

    /// Describes an object.
    package init(
        _ kind: Kind, name: String, table: String? = nil, sql: String, isTracked: Bool = false
    ) {
        self.kind = kind
        self.name = name
        self.table = table ?? name
        self.sql = sql
        self.isTracked = isTracked
    }
}
