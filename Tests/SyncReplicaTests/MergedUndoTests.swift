import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Transactions of other replicas can be reverted where the store keeps old values.
@Suite("Undoing merged transactions")
struct MergedUndoTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pair() throws -> (TestStore, TestStore) {
        let (a, b) = try TestStore.pair(
            in: folder,
            schema: """
                CREATE TABLE u(id INTEGER PRIMARY KEY, n TEXT, e TEXT);
                CREATE TABLE p(id INTEGER PRIMARY KEY, u INTEGER REFERENCES u ON DELETE SET NULL);
                INSERT INTO u VALUES (1, 'Ann', 'a@x'), (2, 'Bob', 'b@x');
                INSERT INTO p VALUES (1, 1);
                """)
        for table in ["u", "p"] {
            try Store.track(a.path, options: [table: CaptureOptions(undo: true)])
        }
        try TestStore.sync(a, b)
        return (a, b)
    }

    /// Reverts the newest transaction that another replica made.
    private func revertNewest(_ store: TestStore) throws -> UndoReport {
        let opened = try Store.open(store.path)
        defer { try? opened.close() }
        let merged = try #require(try opened.history().last { $0.flags.contains(.remote) })
        return try opened.revert(merged.number)
    }

    @Test("an update of another replica is reverted, and the revert travels")
    func updateIsReverted() throws {
        let (a, b) = try pair()
        try b.run("UPDATE u SET n = 'Robert', e = NULL WHERE id = 2")
        try TestStore.sync(a, b)
        let report = try revertNewest(a)
        #expect(report.isComplete, "\(report)")
        try TestStore.sync(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT n, e FROM u WHERE id = 2") == [["Bob", "b@x"]])
        }
    }

    @Test("what a merge changed beyond the transactions has old values, too")
    func repairIsReverted() throws {
        let (a, b) = try pair()
        try b.run("DELETE FROM u WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(try a.rows("SELECT u FROM p") == [[.null]])
        let opened = try Store.open(a.path)
        let update = try #require(
            try opened.history().flatMap(\.changes).last { $0.entity == "p" && $0.kind == .update })
        #expect(update.oldValues?["u"] == 1)
        try opened.close()
    }

    @Test("of two updates that arrive together only the first has the value before")
    func valuesInBetween() throws {
        let (a, b) = try pair()
        try b.run("UPDATE u SET n = 'Rob' WHERE id = 2")
        _ = try b.replica.vector
        try b.run("UPDATE u SET n = 'Robert' WHERE id = 2")
        try TestStore.sync(a, b)
        let opened = try Store.open(a.path)
        let changes = try opened.history().filter { $0.flags.contains(.remote) }
            .flatMap(\.changes).filter { $0.kind == .update }
        #expect(changes.map { $0.oldValues?["n"] } == ["Bob", nil])
        try opened.close()
        let report = try revertNewest(a)
        #expect(report.steps.isEmpty && report.refusals.count == 1, "it says what it cannot do")
    }

    @Test("a store that keeps no old values says so")
    func notKept() throws {
        let (a, b) = try pair()
        try a.run("UPDATE u SET n = 'Anna' WHERE id = 1")
        try TestStore.sync(a, b)
        let report = try revertNewest(b)
        #expect(report.refusals.first?.reason.contains("--undo") ?? false)
    }
}
