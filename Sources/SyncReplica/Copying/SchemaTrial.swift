import GRDB
import SyncMerge
import SyncStorage
import SyncValues

/// An empty database in memory with the schema of this one, to try changes on: what they would
/// make, and what they could not.
struct SchemaTrial {
    private let queue: DatabaseQueue
    /// Whether everything of this database could be made in it. Without the functions of an
    /// application it may lack objects, and then what it refuses proves nothing.
    let isComplete: Bool

    /// - Throws: `internalFault` where no database in memory can be made.
    /// - Complexity: O(schema)
    init(_ content: SchemaContent) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.acceptsDoubleQuotedStringLiterals = true
        queue = try DatabaseQueue(configuration: configuration)
        let kinds: [SchemaObject.Kind] = [.table, .virtualTable, .view, .index, .trigger]
        isComplete = queue.inDatabase { database in
            var isComplete = true
            for object in kinds.flatMap({ kind in content.objects.filter { $0.kind == kind } }) {
                do { try database.execute(sql: object.sql) } catch { isComplete = false }
            }
            return isComplete
        }
    }

    /// Runs changes of names.
    /// - Returns: why SQLite refuses them; nil: it does not.
    func run(_ changes: [SchemaComparison.Change]) throws -> String? {
        try queue.inDatabase { database in
            do {
                for change in changes { try database.execute(sql: change.sql) }
                return nil
            } catch let error as DatabaseError {
                return error.message ?? "\(error.resultCode)"
            }
        }
    }

    /// The objects as they are now.
    /// - Parameter tracked: the folded names of the tracked tables.
    func objects(tracked: Set<String>) throws -> [SchemaObject] {
        try queue.inDatabase { try PresentSchema($0).objects(tracked: tracked) }
    }

    /// The tables as they are now.
    func tables() throws -> [TableSchema] {
        try queue.inDatabase { try SchemaReader($0).tables() }
    }

    /// Makes what is new.
    /// - Returns: what could not be made.
    func apply(_ comparison: SchemaComparison) throws -> [RefusedObject] {
        try queue.inDatabase { try SchemaApplying(comparison).apply(in: $0) }
    }

    /// Ends the database.
    func close() { try? queue.close() }
}
