import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Text that is not UTF-8, or has a NUL in it, in keys, values and conflicts of replicas.
@Suite("Text of any bytes")
struct ExactTextTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func sql(_ bytes: String) -> String { "CAST(x'\(bytes)' AS TEXT)" }

    private func rows(_ store: TestStore) throws -> [[Value]] {
        try store.rows("SELECT hex(id), hex(a), typeof(a) FROM item ORDER BY id")
    }

    @Test func replicasHaveTheSameBytes() throws {
        let first = try TestStore(
            folder.file("0.db"),
            schema: """
                CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, a TEXT);
                INSERT INTO item VALUES (\(Self.sql("80")), \(Self.sql("ff"))),
                  (\(Self.sql("81")), \(Self.sql("610062"))), ('c', 'c')
                """)
        let snapshot = try first.replica.batches(since: VersionVector())
        let path = folder.file("1.db")
        let second = try TestStore(path, StoreReplica.create(at: path, from: snapshot[0]))
        #expect(try rows(second) == rows(first))
        try first.run("UPDATE item SET a = \(Self.sql("c3")) WHERE id = \(Self.sql("80"))")
        try second.run("UPDATE item SET a = \(Self.sql("610063")) WHERE id = \(Self.sql("81"))")
        try first.run("INSERT INTO item VALUES (\(Self.sql("6100")), \(Self.sql("f48fbe80")))")
        try second.run("DELETE FROM item WHERE id = 'c'")
        try TestStore.sync(first, second)
        #expect(try rows(second) == rows(first))
        #expect(
            try rows(first) == [
                ["6100", "F48FBE80", "text"], ["80", "C3", "text"], ["81", "610063", "text"],
            ])
        // Concurrent: the one that lost is a conflict with its exact value.
        try first.run("UPDATE item SET a = \(Self.sql("fe")) WHERE id = \(Self.sql("80"))")
        try second.run("UPDATE item SET a = \(Self.sql("fd")) WHERE id = \(Self.sql("80"))")
        try TestStore.sync(first, second)
        #expect(try rows(second) == rows(first))
        #expect(try !first.replica.conflicts().isEmpty)
    }
}

/// `synctool purge --object` in a store that merges.
@Suite("Erasing conflicts")
struct ConflictErasingTests {
    @Test func closedConflictsAreErasedAndOpenOnesRefused() throws {
        let folder = try TemporaryFolder()
        let first = try TestStore(
            folder.file("0.db"),
            schema: """
                CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT);
                INSERT INTO item VALUES (1, 'one'), (2, 'two')
                """)
        let path = folder.file("1.db")
        let second = try TestStore(
            path,
            StoreReplica.create(at: path, from: first.replica.batches(since: VersionVector())[0]))
        for id in 1...2 {
            try first.run("UPDATE item SET a = 'secret\(id)' WHERE id = \(id)")
            try second.run("UPDATE item SET a = 'other\(id)' WHERE id = \(id)")
        }
        try TestStore.sync(first, second)
        let object = ObjectName(entity: "Item", key: ObjectKey(1))
        #expect(throws: SyncError(.refused, "")) {
            try StoreReplica.eraseConflicts(of: object, at: first.path)
        }
        for conflict in try first.replica.conflicts() {
            try first.replica.resolve(conflict.id, keeping: .shown)
        }
        #expect(try first.replica.conflicts(open: nil).count == 2)
        #expect(try StoreReplica.eraseConflicts(of: object, at: first.path) == 1)
        #expect(try first.replica.conflicts(open: nil).map(\.path) == ["item/2"])
        try TestStore.sync(first, second)
        #expect(try first.dump() == second.dump())
        #expect(try first.replica.conflicts(open: nil).map(\.path) == ["item/2"])
        // A store that was never synchronised has none.
        let plain = folder.file("2.db")
        try PlainConnection(plain).run("CREATE TABLE item(id INTEGER PRIMARY KEY, a)")
        try Store.track(plain)
        #expect(try StoreReplica.eraseConflicts(of: object, at: plain) == 0)
    }
}
