import CSQLite
import Foundation

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// A database file in a folder of its own, with a writer's connection that knows nothing of syncd.
/// The folder goes when this does.
final class TestDatabase {
    let folder: URL
    let path: String
    private var writer: OpaquePointer?

    init(wal: Bool = true, _ schema: String...) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("syncd-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("test.db").path
        try open()
        if wal { try sql("PRAGMA journal_mode=WAL") }
        try sql("PRAGMA foreign_keys=ON")
        for statement in schema { try sql(statement) }
    }

    deinit {
        sqlite3_close_v2(writer)
        try? FileManager.default.removeItem(at: folder)
    }

    func open() throws {
        guard sqlite3_open(path, &writer) == SQLITE_OK, let writer else {
            throw SyncError(.internalFault, "cannot open \(path)")
        }
        sqlite3_busy_timeout(writer, 5000)
        sqlite3_exec(writer, "PRAGMA synchronous=OFF", nil, nil, nil)
    }

    func close() {
        sqlite3_close(writer)
        writer = nil
    }

    /// Runs statements on the writer's connection.
    func sql(_ text: String) throws {
        guard let writer else { throw SyncError(.internalFault, "closed") }
        try RawTransaction.execute(writer, text)
    }

    /// Writes as a program that has switched triggers off.
    func withoutTriggers(_ body: () throws -> Void) rethrows {
        syncd_sqlite_enable_triggers(writer, 0)
        defer { syncd_sqlite_enable_triggers(writer, 1) }
        try body()
    }

    /// The rows of a query on the writer's connection.
    func rows(_ text: String) throws -> [[Value]] {
        guard let writer else { throw SyncError(.internalFault, "closed") }
        let statement = try Statement(writer, text)
        var rows: [[Value]] = []
        while try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.value($0) })
        }
        return rows
    }

    /// Tracks it and opens it as a store.
    func store(_ options: [String: CaptureOptions] = [:]) throws -> Store {
        try Store.track(path, options: options)
        return try Store.open(path)
    }
}

extension Transaction {
    /// `insert Album/1, update Album/2 Title`: what a test compares.
    var summary: String {
        changes.map { change in
            let names =
                change.properties.isEmpty ? "" : " " + change.properties.joined(separator: "+")
            return "\(change.kind.name) \(change.object.path)\(names)"
        }.joined(separator: ", ")
    }
}
