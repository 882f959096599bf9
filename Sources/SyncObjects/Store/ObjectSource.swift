import GRDB
import SyncCore

/// The place where a context reads and saves: the store, or a parent context.
protocol ObjectSource: AnyObject, Sendable {
    func rows(_ query: ObjectQuery) throws -> [StoredRow]
    func ids(_ query: ObjectQuery) throws -> [ManagedObjectID]
    func count(_ query: ObjectQuery) throws -> Int
    /// Keys at the other side of a many-to-many relationship, with their places in its order.
    func pairs(
        _ join: JoinLayout, isSource: Bool, of key: Value
    ) throws -> [(key: Value, order: Value)]
    func save(_ request: SaveRequest, saver: (any ChangeListener)?) throws -> SaveResult
    func add(_ listener: any ChangeListener)
}

extension StoreCoordinator: ObjectSource {
    func rows(_ query: ObjectQuery) throws -> [StoredRow] {
        try read { try rows.fetch(query, in: $0) }
    }

    func ids(_ query: ObjectQuery) throws -> [ManagedObjectID] {
        try read { try rows.fetchIDs(query, in: $0) }
    }

    /// The rows of any columns.
    func values(_ query: ObjectQuery, expression: String, suffix: String) throws -> [[Value]] {
        try read { db in
            let (sql, arguments) = try rows.select(query, expression: expression, suffix: suffix)
            let statement = try RawStatement(db, sql: sql)
            statement.bind(arguments)
            var result: [[Value]] = []
            while try statement.step() {
                result.append((0..<statement.columnCount).map(statement.value))
            }
            return result
        }
    }

    func count(_ query: ObjectQuery) throws -> Int { try read { try rows.count(query, in: $0) } }

    func pairs(
        _ join: JoinLayout, isSource: Bool, of key: Value
    ) throws -> [(key: Value, order: Value)] {
        try read { try rows.joinMembers(join, isSource: isSource, of: key, in: $0) }
    }
}
