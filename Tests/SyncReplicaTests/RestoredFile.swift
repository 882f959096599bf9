import Foundation
import SyncTesting

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A replica whose file is put back to an earlier state in place: the same inode, so that nothing
/// but its content says so.
final class RestoredFile {
    let path: String
    private var backup = Data()

    /// Makes and tracks a database.
    init(_ path: String, schema: String, isSigning: Bool = false) throws {
        self.path = path
        try run("PRAGMA journal_mode = WAL")
        try run(schema)
        try Store.track(path)
        guard isSigning else { return }
        let replica = try StoreReplica(path)
        try replica.startSigning()
        try replica.close()
    }

    /// A new replica from what a remote has.
    init(_ path: String, from remote: MemoryRemote) async throws {
        self.path = path
        var batches: [[UInt8]] = []
        for item in try await remote.catalog(since: VersionVector()).path(since: VersionVector()) {
            batches.append(try await remote.fetch(item))
        }
        try StoreReplica.clone(at: path, from: batches).close()
    }

    /// Runs statements as another program would, each a transaction of its own.
    func run(_ sql: String) throws {
        try withConnection { try $0.run(sql) }
    }

    func rows(_ sql: String) throws -> [[Value]] {
        try withConnection { try $0.rows(sql) }
    }

    /// The first column of a query, as text.
    func strings(_ sql: String) throws -> [String] {
        try withConnection { try $0.strings(sql) }
    }

    /// A connection holds no file open between two uses: the file may be replaced.
    private func withConnection<Result>(_ body: (PlainConnection) throws -> Result) throws -> Result
    {
        let connection = try PlainConnection(path)
        defer { connection.close() }
        try connection.run("PRAGMA foreign_keys = ON")
        return try body(connection)
    }

    func withReplica<Result>(_ body: (StoreReplica) async throws -> Result) async throws -> Result {
        let replica = try StoreReplica(
            path, wall: { Timestamp.now().milliseconds }, isVerifying: true)
        defer { try? replica.close() }
        return try await body(replica)
    }

    @discardableResult
    func sync(_ remote: MemoryRemote) async throws -> ExchangeReport {
        try await withReplica { try await Exchange($0, with: remote).sync() }
    }

    func renew() async throws { _ = try await withReplica { try $0.renewIdentity() } }

    /// Keeps the file as it is now.
    func keep() throws {
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
        backup = try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// Puts what was kept into the file.
    func restore() throws {
        for ending in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + ending)
        }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: backup)
        try file.close()
    }

    /// The file as a copy elsewhere.
    func copied(to path: String) throws -> RestoredFile {
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: self.path, toPath: path)
        return RestoredFile(existing: path)
    }

    init(existing path: String) { self.path = path }
}
