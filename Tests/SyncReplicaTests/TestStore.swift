import Foundation
import SyncMerge
import SyncTesting

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// A tracked database with a foreign writer and a replica on it.
struct TestStore {
    let path: String
    let replica: StoreReplica
    private let writer: PlainConnection

    /// Makes and tracks a database; rows of the schema are there before history.
    init(
        _ path: String, schema: String, usesLocalLane: Bool = LaneUse.isLocalByDefault
    ) throws {
        let connection = try PlainConnection(path, wal: true)
        try connection.run("PRAGMA foreign_keys = ON")
        try connection.run(schema)
        connection.close()
        try Store.track(path)
        let replica = try StoreReplica(
            path, wall: { Timestamp.now().milliseconds }, usesLocalLane: usesLocalLane)
        try self.init(path, replica)
    }

    init(_ path: String, _ replica: StoreReplica) throws {
        self.path = path
        self.replica = replica
        writer = try PlainConnection(path)
        try writer.run("PRAGMA foreign_keys = ON")
    }

    /// Runs statements as another program would.
    ///
    /// What is written next, on any replica, has a later time, in milliseconds: of two writes of one
    /// time the name of the replica decides, which is drawn.
    func run(_ sql: String) throws {
        try writer.run(sql)
        usleep(1500)
    }

    /// The rows of a query.
    func rows(_ sql: String) throws -> [[Value]] { try writer.rows(sql) }

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

    /// What the history has of an object, in order.
    /// - Parameter object: `table/key`.
    func kinds(of object: String) throws -> [Change.Kind] {
        let opened = try Store.open(path)
        defer { try? opened.close() }
        return try opened.history().flatMap(\.changes).filter { $0.object.path == object }
            .map(\.kind)
    }

    /// Merges everything that `other` has.
    func pull(from other: TestStore) throws {
        for batch in try other.replica.batches(since: replica.vector) {
            guard try replica.merge(batch) else {
                throw SyncError(.internalFault, "a gap in an exchange")
            }
        }
    }

    /// A store in two files of a folder: the second one is a new replica made from the first.
    static func pair(
        in folder: TemporaryFolder, schema: String,
        usesLocalLane: Bool = LaneUse.isLocalByDefault
    ) throws -> (TestStore, TestStore) {
        let a = try TestStore(
            folder.file("a.db"), schema: schema, usesLocalLane: usesLocalLane)
        return (a, try a.copy(at: folder.file("b.db")))
    }

    /// A new replica of the store.
    func copy(at path: String) throws -> TestStore {
        let snapshot = try replica.batches(since: VersionVector())
        return try TestStore(path, StoreReplica.create(at: path, from: snapshot[0]))
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
