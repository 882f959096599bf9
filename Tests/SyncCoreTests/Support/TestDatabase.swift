import Foundation
import SyncTesting

@testable import SyncCore
@testable import SyncValues

/// A database file in a folder of its own, and the connection of a writer that knows nothing of
/// syncd. The folder is removed with it.
final class TestDatabase {
    let folder: TemporaryFolder
    let path: String
    private var writer: PlainConnection

    init(wal: Bool = true, _ schema: String...) throws {
        folder = try TemporaryFolder()
        path = folder.file("test.db")
        writer = try Self.open(path)
        if wal { try writer.run("PRAGMA journal_mode=WAL") }
        for statement in schema { try writer.run(statement) }
    }

    private static func open(_ path: String) throws -> PlainConnection {
        let writer = try PlainConnection(path)
        try writer.run("PRAGMA synchronous=OFF; PRAGMA foreign_keys=ON")
        return writer
    }

    /// Closes the writer's connection and opens another one.
    func reopen() throws {
        writer.close()
        writer = try Self.open(path)
    }

    /// Closes the writer's connection: nothing can be written any more.
    func close() { writer.close() }

    /// Puts the bytes of another file into this one, which nobody else has open.
    func replace(with other: String) throws {
        writer.close()
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: other))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        writer = try Self.open(path)
    }

    /// Runs statements on the writer's connection.
    func sql(_ text: String) throws { try writer.run(text) }

    /// The rows of a query on the writer's connection.
    func rows(_ text: String) throws -> [[Value]] { try writer.rows(text) }

    /// Writes as a program that has switched triggers off.
    func withoutTriggers(_ body: () throws -> Void) rethrows { try writer.withoutTriggers(body) }

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
