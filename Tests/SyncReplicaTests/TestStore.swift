import Foundation
import GRDB

@testable import SyncCore
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// A folder for one test, gone when it ends.
final class TestFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("merge-\(UUID().uuidString)")

    init() {
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// A tracked database with a foreign writer and a replica on it.
struct TestStore {
    let path: String
    let replica: StoreReplica
    private let writer: DatabaseQueue

    /// Makes and tracks a database; rows of the schema are there before history.
    init(_ path: String, schema: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: schema)
        }
        try queue.close()
        try Store.track(path)
        self.init(path, try StoreReplica(path))
    }

    init(_ path: String, _ replica: StoreReplica) {
        self.path = path
        self.replica = replica
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.allowsUnsafeTransactions = true
        guard let queue = try? DatabaseQueue(path: path, configuration: configuration) else {
            preconditionFailure("the database opens")
        }
        writer = queue
    }

    /// Runs statements as another program would.
    func run(_ sql: String) throws {
        try writer.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    /// The rows of a query.
    func rows(_ sql: String) throws -> [[Value]] {
        try writer.writeWithoutTransaction { database in
            guard let connection = database.sqliteConnection else { return [] }
            let statement = try Statement(connection, sql)
            var rows: [[Value]] = []
            while try statement.step() {
                rows.append((0..<statement.columnCount).map(statement.value))
            }
            return rows
        }
    }

    /// All tables of the user, private numbers included.
    func dump() throws -> [String: [[Value]]] {
        let names = try rows(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table'
            AND name NOT LIKE 'syncd%' AND name NOT LIKE 'sqlite%'
            """)
        var tables: [String: [[Value]]] = [:]
        for case .text(let name) in names.map({ $0[0] }) {
            tables[name] = try rows("SELECT * FROM \"\(name)\" ORDER BY 1, 2")
        }
        return tables
    }

    /// Merges everything that `other` has.
    func pull(from other: TestStore) throws {
        for batch in try other.replica.batches(since: replica.vector) {
            guard try replica.merge(batch) else {
                throw SyncError(.internalFault, "a gap in an exchange")
            }
        }
    }

    /// Exchanges everything.
    static func sync(_ stores: TestStore...) throws {
        for _ in 0..<2 {
            for from in stores {
                for to in stores where to.path != from.path { try to.pull(from: from) }
            }
        }
    }
}
