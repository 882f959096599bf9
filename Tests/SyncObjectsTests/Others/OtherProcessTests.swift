import Foundation
import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

/// Real processes write the store: `sqlite3` is one of them.
@Suite(.timeLimit(.minutes(2))) final class OtherProcessTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        context = try container.newBackgroundContext(author: "me")
        path = folder.file("store.sqlite").path
    }

    private func sqlite(_ sql: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c",
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=20);"
                + "c.execute('PRAGMA foreign_keys = ON'); c.executescript(sys.argv[2]); c.commit()",
            path, sql,
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private func eventually(_ condition: () -> Bool) async throws {
        let holds = await SyncTesting.eventually(condition)
        #expect(holds)
    }

    private func add(_ title: String, _ group: TodoGroup? = nil) throws -> TodoTask {
        let task = try TodoTask(context: context)
        task.title = title
        task.group = group
        return task
    }

    @Test func changesAndDeletionsArriveByThemselves() async throws {
        let task = try add("a")
        try context.save()
        try container.followExternalChanges()
        let controller = try FetchedResultsController(
            FetchRequest<TodoTask>(sortedBy: [SortKey("title")]), context: context)
        try controller.performFetch()
        try sqlite("UPDATE C_Task SET title = 'b'")
        try await eventually { task.title == "b" }
        try sqlite("INSERT INTO C_Task(title) VALUES ('c')")
        try await eventually { controller.snapshot?.objects.map(\.title) == ["b", "c"] }
        task.title = "mine"
        try sqlite("DELETE FROM C_Task WHERE title = 'b'")
        try await eventually { task.state.isGone }
        #expect(task.title == "mine")
        #expect(task.lastKnown?["title"] as? String == "b")
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .deletedElsewhere)
    }

    @Test func historySaysWhoAndWhy() async throws {
        let group = try TodoGroup(context: context)
        let task = try add("a", group)
        try context.save()
        _ = try Store.track(path)
        try container.followExternalChanges()
        try sqlite(
            """
            BEGIN; INSERT INTO syncd_txn(author, context, pid) VALUES ('importer', 'night', 1);
            DELETE FROM C_Group; COMMIT
            """)
        try await eventually { task.state.isGone && group.state.isGone }
        guard case .gone(let first) = group.state, case .gone(let second) = task.state else {
            return
        }
        #expect(first.author == "importer")
        #expect(first.cause == .deleted)
        #expect(first.transaction != nil)
        #expect(second.cause == .cascade(of: group.objectID))
    }

    @Test func aKeyThatComesBackInOneLookIsAnotherObject() async throws {
        let task = try add("old")
        try context.save()
        _ = try Store.track(path)
        try container.followExternalChanges()
        try sqlite(
            "BEGIN; DELETE FROM C_Task; INSERT INTO C_Task(id, title) VALUES (1, 'new'); COMMIT")
        try await eventually { task.state.isGone }
        #expect(task.title == "old")
        let found = try context.fetch(TodoTask.self)
        #expect(found.map(\.title) == ["new"])
        #expect(found[0].objectID.incarnation == 2)
    }

    @Test("H-05: history keeps of a deleted object what the model says")
    func modelsSayWhatIsKept() async throws {
        var entities = TodoModel.entities()
        entities[1].attributes[0].preservesValueInHistoryOnDeletion = false
        let model = try ManagedObjectModel(entities)
        let secret = try folder.container("secret.sqlite", model)
        let path = folder.file("secret.sqlite").path
        #expect(model.captureOptions.keys.sorted() == ["C_Task"])
        _ = try Store.track(path, options: model.captureOptions)
        let writer = try secret.newBackgroundContext()
        let task = try TodoTask(context: writer)
        task.title = "secret"
        task.priority = 3
        try writer.save()
        let reader = try secret.newBackgroundContext()
        let fault = try reader.object(with: task.objectID)
        try secret.coordinator.checkForExternalChanges()
        try await SharedStore.run(path, "DELETE FROM C_Task", usesPython: false)
        try secret.coordinator.checkForExternalChanges()
        reader.performAndWait {}
        let tombstone = try #require(fault.gone?.tombstone)
        #expect(tombstone["title"] == nil)
        #expect(tombstone["priority"] == .integer(3))
        secret.close()
    }

    @Test func replacedFileMakesObjectsGone() async throws {
        let task = try add("a")
        try context.save()
        try container.followExternalChanges()
        task.title = "edited"
        let other = try folder.container("other.sqlite")
        other.close()
        #expect(rename(folder.file("other.sqlite").path, path) == 0)
        try await eventually { task.state == .gone(Gone(.storeReplaced)) }
        #expect(task.title == "edited")
    }

    @Test func ownSavesAreInHistoryWithTheirAuthor() throws {
        _ = try add("first")
        try context.save()
        _ = try Store.track(path)
        let writer = try folder.container()
        let second = try writer.newBackgroundContext(author: "editor")
        second.name = "window"
        try TodoTask(context: second).title = "second"
        try second.save()
        let transaction = try #require(try Store.open(path).history().last)
        #expect(transaction.author == "editor")
        #expect(transaction.context == "window")
        #expect(transaction.changes.map(\.kind) == [.insert])
    }
}
