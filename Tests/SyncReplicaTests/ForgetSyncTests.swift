import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// What is left of merging in a store that forgot it, or lost a part of it.
@Suite("Stores that leave their replicas", .timeLimit(.minutes(5)))
struct ForgetSyncTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE, note TEXT);
        INSERT INTO item VALUES ('x', 'ann', 'n0'), ('y', 'bob', 'n1');
        """

    /// Two replicas with all that merging keeps: a conflict with its sides, signers, names, a
    /// decision.
    private func pair() throws -> (TestStore, TestStore) {
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        for store in [a, b] {
            try store.replica.startSigning()
            try store.replica.setName("name of \(store.replica.replicaID)")
        }
        try TestStore.sync(a, b)
        try a.run("UPDATE item SET note = 'a' WHERE id = 'x'")
        try b.run("UPDATE item SET note = 'b' WHERE id = 'x'")
        try b.replica.setMembership(isClosed: true)
        try TestStore.sync(a, b)
        #expect(try b.replica.conflicts().count == 1)
        return (a, b)
    }

    private func tables(of path: String) throws -> Set<String> {
        Set(
            try PlainConnection(path).strings(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'syncd%'"))
    }

    private func settings(of path: String) throws -> Set<String> {
        Set(try PlainConnection(path).strings("SELECT key FROM syncd_meta"))
    }

    /// What a store has that was tracked, and what is chosen for merging.
    private func expectSeparate(_ path: String) throws {
        let other = folder.file("other.db")
        try PlainConnection(other, wal: true).run(Self.schema)
        try Store.track(other)
        #expect(try tables(of: path).subtracting(tables(of: other)).isEmpty)
        let chosen: Set = ["policies", "signing", "writes", "births"]
        let history: Set = ["digested", "anchor", "current", "compared", "remade"]
        let kept = try settings(of: path).subtracting(settings(of: other))
        #expect(kept.subtracting(chosen).subtracting(history).isEmpty, "\(kept)")
        let bits = "SELECT value & 896 FROM syncd_meta WHERE key = 'writes'"
        #expect(try PlainConnection(path).strings(bits).allSatisfy { $0 == "0" })
    }

    @Test func nothingOfMergingIsLeft() throws {
        let (a, b) = try pair()
        let dump = try b.dump()
        let (store, batches) = (b.replica.storeID, try a.replica.batches(since: VersionVector()))
        try b.replica.close()
        let report = try Store.forgetSync(b.path, discarding: true)
        #expect(report.store == store && report.losses.openConflicts == 1)
        try expectSeparate(b.path)
        #expect(try b.dump() == dump)

        let own = try TestStore(b.path, StoreReplica(b.path))
        #expect(own.replica.storeID != store && own.replica.replicaID != report.replica)
        #expect(throws: SyncError(.refused, "")) { try own.replica.merge(batches[0]) }
        for batch in try own.replica.batches(since: VersionVector()) {
            #expect(throws: SyncError(.refused, "")) { try a.replica.merge(batch) }
        }
        // It has replicas of its own.
        let copy = try own.copy(at: folder.file("copy.db"))
        try copy.run("UPDATE item SET note = 'c' WHERE id = 'y'")
        try own.run("UPDATE item SET note = 'd' WHERE id = 'y'")
        try TestStore.sync(own, copy)
        #expect(try own.dump() == copy.dump())
        #expect(try own.replica.conflicts().count == 1 && copy.replica.conflicts().count == 1)
    }

    /// A store that lost a table of merging keeps none of the others: the conflicts of the store
    /// that it becomes would have the sides of former ones.
    @Test func aMendedStoreKeepsNothingOfMergingEither() throws {
        let (_, b) = try pair()
        try b.replica.close()
        try b.run("DROP TABLE syncd_object")
        #expect(try Store.mend(b.path).losses == [.replication])
        try expectSeparate(b.path)
    }

    @Test func anOpenReplicaDoesNotGoOn() throws {
        let (a, b) = try pair()
        let before = try b.rows("SELECT replica FROM syncd_replica WHERE id = 1")
        #expect(throws: SyncError(.refused, "")) { try Store.forgetSync(b.path) }
        #expect(try b.rows("SELECT replica FROM syncd_replica WHERE id = 1") == before)
        try Store.forgetSync(b.path, discarding: true)
        #expect(throws: SyncError(.storeReplaced, "")) { try b.replica.vector }
        #expect(throws: SyncError(.storeReplaced, "")) {
            for batch in try a.replica.batches(since: VersionVector()) {
                try b.replica.merge(batch)
            }
        }
        #expect(try !tables(of: b.path).contains("syncd_object"))
    }

    /// The records alone know what was written past the triggers to rows that history never had.
    @Test func whatWasWrittenPastTheTriggersIsRecordedFirst() throws {
        let (_, b) = try pair()
        let triggers = try b.rows(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'item'")
        for row in triggers {
            if case .text(let name) = row[0] { try b.run("DROP TRIGGER \"\(name)\"") }
        }
        try b.run("UPDATE item SET note = 'past' WHERE id = 'y'")
        try b.replica.close()
        try Store.forgetSync(b.path, discarding: true)
        let store = try Store.open(b.path)
        defer { try? store.close() }
        let last = try store.history().last
        #expect(last?.changes.map(\.object.path) == ["item/y"])
        #expect(last?.flags.contains(.recovered) == true)
    }
}
