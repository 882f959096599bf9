import SyncStorage
import SyncValues

/// Prepared statements by their text, for one connection.
///
/// Confined to its connection's queue. The texts come from the schema: there are some ten for each
/// table, and one for each set of columns that merges have updated. Texts are compared by bytes, as
/// SQLite compares the names in them.
final class StatementCache {
    /// Sets of columns are many in a wide table: beyond this the cache starts over.
    private static let statementsMax = 500

    let connection: OpaquePointer
    private var statements: ExactMap<Statement> = [:]

    init(_ connection: OpaquePointer) { self.connection = connection }

    /// The statement with this text, ready to be bound.
    func statement(_ sql: String) throws -> Statement {
        if let statement = statements[sql] { return statement }
        if statements.count >= Self.statementsMax { statements = [:] }
        let statement = try Statement(sql, on: connection)
        statements[sql] = statement
        return statement
    }

    /// Finalizes all of them.
    func removeAll() { statements = [:] }
}
