import Foundation
import GRDB
import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

/// What happens to the store itself, with syncd up, down, and restarted in the middle; and many
/// commits while it comes and goes.
@Suite(.timeLimit(.minutes(4)), .serialized) struct SharedFileTests {
    @Test("E-26, E-27: replaced or removed", arguments: DaemonFate.allCases, [true, false])
    func theFileGoes(fate: DaemonFate, isReplaced: Bool) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        try store.context.save()
        try await store.follow()
        task.title = "edited"
        if fate == .restarted { await store.killDaemon() }
        if isReplaced {
            try store.folder.container("other.sqlite").close()
            #expect(rename(store.folder.file("other.sqlite").path, store.path) == 0)
        } else {
            #expect(unlink(store.path) == 0)
        }
        try await store.expectEventually { task.gone?.cause == .storeReplaced }
        #expect(task.title == "edited")
        let new = try TodoTask(context: store.context)
        let error = #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(
            error?.code == (isReplaced ? .storeReplaced : .storeRemoved)
                || error?.code == .multipleErrors || error?.code == .deletedElsewhere)
        // The later source reports it again.
        try store.container.coordinator.publishIfLost()
        store.context.performAndWait {}
        #expect(new.state == .inserted)
        #expect(isReplaced || !FileManager.default.fileExists(atPath: store.path))
    }

    @Test("E-28: an older state is put back in place", arguments: DaemonFate.allCases)
    func restoredInPlace(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let kept = try store.add("kept")
        try store.context.save()
        let backup = store.folder.file("backup.sqlite").path
        try await SharedStore.run(store.path, "VACUUM INTO '\(backup)'", usesPython: false)
        let late = try store.add("late")
        kept.title = "newer"
        try store.context.save()
        try await store.follow()
        if fate == .restarted { await store.killDaemon() }
        try await SharedStore.python(
            store.path,
            "b = sqlite3.connect(sys.argv[2]); b.backup(c); b.close()", backup)
        if fate == .restarted { try await store.startDaemon() }
        try await store.expectEventually { late.state.isGone && kept.title == "kept" }
        #expect(kept.state == .clean)
        // What comes after is followed again.
        try await SharedStore.run(
            store.path, "UPDATE C_Task SET title = 'after' WHERE title = 'kept'", usesPython: true)
        try await store.expectEventually { kept.title == "after" }
    }

    @Test("E-29: history was purged before it was read", arguments: DaemonFate.allCases)
    func purgedBeforeRead(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let gone = try store.add("gone")
        let kept = try store.add("kept")
        try store.context.save()
        try store.container.coordinator.checkForExternalChanges()
        try await store.write("DELETE FROM C_Task WHERE title = 'gone'")
        try await store.write("UPDATE C_Task SET title = 'changed'")
        try Self.purge(store.path)
        try store.container.coordinator.checkForExternalChanges()
        store.context.performAndWait {}
        #expect(gone.gone?.cause == .unknown)
        #expect(gone.lastKnown?["title"] as? String == "gone")
        #expect(kept.title == "changed")
        #expect(try store.container.coordinator.following.resyncs == 1)
        // The deletion that was never reported does not affect the next one.
        try await store.follow()
        try await store.write("DELETE FROM C_Task")
        try await store.expectEventually { kept.state.isGone }
        #expect(kept.gone?.cause == .deleted)
    }

    private static func purge(_ path: String) throws {
        let history = try Store.open(path)
        while try history.digest() {}
        let purged = try history.purge(before: try history.head(), force: true)
        #expect(purged.transactions > 0)
    }

    @Test("E-35: a storm of deletions", arguments: DaemonFate.allCases)
    func aStormIsOneUpdate(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("held")
        try store.context.save()
        try await SharedStore.run(
            store.path,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)"
                + " INSERT INTO C_Task(title, priority, completed, myDay)"
                + " SELECT 't' || i, i % 9, 0, 0 FROM n", usesPython: false)
        try await store.follow()
        store.context.performAndWait {}
        let controller = try FetchedResultsController(
            FetchRequest<TodoTask>(sortedBy: [SortKey("title")]), context: store.context)
        #expect(try controller.performFetch().ids.count == 12_001)
        var updates = controller.updates.makeAsyncIterator()
        _ = await updates.next()
        try await store.write("DELETE FROM C_Task")
        let update = try #require(await updates.next())
        #expect(update.removed.count == 12_001)
        #expect(update.snapshot.ids.isEmpty)
        #expect(task.state.isGone)
    }

    @Test("E-59: a deletion whose values were not kept", arguments: DaemonFate.allCases)
    func absentIsNotNil(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        try store.context.save()
        let other = try store.container.newBackgroundContext()
        let fault = try #require(try other.object(with: task.objectID) as? TodoTask)
        try await store.follow()
        try await store.write("DELETE FROM C_Task")
        try await store.expectEventually { fault.gone?.transaction != nil }
        let tombstone = try #require(fault.gone?.tombstone)
        #expect(tombstone["nothing"] == nil)
        #expect(tombstone["createDate"] == .some(.null))
        #expect(tombstone["title"] == .text("a"))
    }

    @Test("E-63: the right to write is lost", arguments: DaemonFate.allCases)
    func refusedWritesKeepTheEdits(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        let other = try store.add("b")
        try store.context.save()
        try await store.follow()
        task.title = "edited"
        let queue = try store.container.coordinator.queue
        try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = ON") }
        let error = #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(error?.code == .readOnly)
        #expect(task.changedValues["title"] as? String == "edited")
        // What others may still write is seen.
        try await store.write("DELETE FROM C_Task WHERE title = 'b'")
        try await store.expectEventually { other.state.isGone }
        #expect(task.changedValues["title"] as? String == "edited")
        try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = OFF") }
        try store.context.save()
        #expect(task.state == .clean)
    }

    /// Commits go on while syncd is killed and started: at the end each object says what the store
    /// says, and every deletion was reported with its author.
    @Test("Nothing is lost when the daemon comes and goes") func switchingLosesNothing()
        async throws
    {
        let store = try await SharedStore(.up)
        let tasks = try (0..<100).map { try store.add("t\($0)") }
        try store.context.save()
        try await store.follow()
        let controller = try FetchedResultsController(
            FetchRequest<TodoTask>(sortedBy: [SortKey("title")]), context: store.context)
        try controller.performFetch()
        let writer = try OtherProcess(
            "/usr/bin/python3",
            [
                "-c",
                """
                import sqlite3, sys, random, time
                c = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
                r = random.Random(7)
                for i in range(600):
                    c.execute('BEGIN IMMEDIATE')
                    c.execute("INSERT INTO syncd_txn(author) VALUES ('w')")
                    kind = r.randrange(10)
                    id = r.randrange(1, 101)
                    if kind == 0: c.execute('DELETE FROM C_Task WHERE id = ?', (id,))
                    elif kind == 1:
                        c.execute("INSERT OR IGNORE INTO C_Task(id, title, priority, completed, "
                                  "myDay) VALUES (?, ?, 0, 0, 0)", (id, 'again%d' % i))
                    else: c.execute('UPDATE C_Task SET title = ? WHERE id = ?', ('v%d' % i, id))
                    c.execute('COMMIT')
                    time.sleep(r.random() * 0.004)
                """, store.path,
            ])
        var random = TestSeed.drawn().random
        while writer.isRunning {
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...250, using: &random)))
            await store.killDaemon()
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...150, using: &random)))
            try await store.startDaemon()
        }
        #expect(await writer.status() == 0)
        let rows = try await DatabaseQueue(path: store.path).read { db in
            try Row.fetchAll(db, sql: "SELECT id, title FROM C_Task ORDER BY title")
                .map { ($0["id"] as Int64, $0["title"] as String) }
        }
        try await store.expectEventually {
            controller.snapshot?.objects.map(\.title) == rows.map(\.1)
        }
        let present = try #require(controller.snapshot)
        #expect(present.ids.map(\.key) == rows.map { .integer($0.0) })
        for task in tasks where task.state.isGone {
            #expect(task.gone?.author == "w")
        }
        for object in present.objects { #expect(object.state == .clean) }
        // Who was deleted is gone for good: the object at its key now is another one.
        let living = Set(present.objects.map(ObjectIdentifier.init))
        for task in tasks {
            #expect(task.state.isGone == !living.contains(ObjectIdentifier(task)))
        }
    }
}
