import Foundation
import GRDB
import SyncTesting
import Testing

@testable import SyncObjects

/// The store cannot be read for a while: another connection holds it exclusively. No access invents
/// an answer, each says why it has none, and all is well again afterwards.
@Suite(.timeLimit(.minutes(2))) final class ReadErrorTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let blocker: DatabaseQueue
    private let group: ManagedObjectID
    private let task: ManagedObjectID

    init() throws {
        folder = try TemporaryFolder()
        let url: URL = folder.file("store.sqlite")
        var description = StoreDescription(.file(url))
        description.busyTimeout = .zero
        container = PersistentContainer(
            name: "store", model: try TodoModel.make(), description: description)
        try container.load()
        let writer = try container.newBackgroundContext()
        let group = try TodoGroup(context: writer)
        let task = try TodoTask(context: writer)
        group.title = "g"
        task.title = "a"
        task.priority = 3
        task.group = group
        try writer.save()
        (self.group, self.task) = (group.objectID, task.objectID)
        try container.coordinator.queue.writeWithoutTransaction {
            _ = try String.fetchOne($0, sql: "PRAGMA journal_mode = DELETE")
        }
        context = try container.newBackgroundContext()
        blocker = try DatabaseQueue(path: url.path)
    }

    private func whileBlocked(_ body: () throws -> Void) throws {
        try blocker.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            defer { try? db.execute(sql: "ROLLBACK") }
            try body()
        }
    }

    @Test func aPropertyThatCannotBeReadIsNilAndSaysWhy() async throws {
        let fault = try #require(try context.object(with: task) as? TodoTask)
        let events = context.events
        try whileBlocked {
            #expect(fault.title == nil)
            #expect(fault.priority == nil)
            #expect(fault.readError?.code == .storeFailure)
            #expect(fault.isFault)
            #expect(fault.state == .clean)
            #expect(throws: ObjectError.self) { try fault.readValue(forKey: "title") }
            #expect(fault.snapshot { $0.title } == nil)
        }
        #expect(fault.title == "a")
        #expect(fault.readError == nil)
        #expect(try fault.readValue(forKey: "priority") as? Int16 == 3)
        for await event in events {
            guard case .readFailed(let error) = event else { continue }
            #expect(error.object == task)
            break
        }
    }

    @Test func relationshipsSayWhy() throws {
        let group = try #require(try context.existingObject(with: group) as? TodoGroup)
        try whileBlocked {
            #expect(group.tasks.isEmpty)
            #expect(group.readError != nil)
            #expect(throws: ObjectError.self) { try group.readValue(forKey: "tasks") }
        }
        #expect(group.tasks.map(\.title) == ["a"])
        #expect(group.readError == nil)
    }

    @Test func writesThatNeedAReadAreRefused() throws {
        let fault = try #require(try context.object(with: task) as? TodoTask)
        let group = try #require(try context.existingObject(with: group) as? TodoGroup)
        try whileBlocked {
            #expect(throws: ObjectError.self) { try fault.setValue("b", forKey: "title") }
            fault.title = "b"
            guard case .rejected(let error) = fault.lastWrite else {
                Issue.record("\(fault.lastWrite)")
                return
            }
            #expect(error.code == .storeFailure)
            #expect(throws: ObjectError.self) { try context.delete(fault) }
            #expect(throws: ObjectError.self) { try context.delete(group) }
            #expect(throws: ObjectError.self) { try group.setValue([fault], forKey: "tasks") }
            #expect(group.state == .clean)
            #expect(!context.hasChanges)
        }
        #expect(fault.title == "a")
        try context.delete(group)
        #expect(fault.state == .deletePending)
        try context.save()
    }

    @Test func fetchesThrowAndRefreshKeepsTheEdits() throws {
        let task = try #require(try context.existingObject(with: task) as? TodoTask)
        task.title = "edited"
        try whileBlocked {
            #expect(throws: ObjectError.self) { try context.fetch(TodoTask.self) }
            #expect(throws: ObjectError.self) {
                try context.count(for: FetchRequest<TodoTask>())
            }
            #expect(throws: ObjectError.self) { try context.refresh(task, mergeChanges: true) }
            #expect(task.state == .updated)
            #expect(task.title == "edited")
        }
        try context.refresh(task, mergeChanges: true)
        #expect(task.title == "edited")
    }

    @Test func listsKeepTheirResultsAndLookAgain() throws {
        let request = FetchRequest<TodoTask>(sortedBy: [SortKey("title")])
        let controller = try FetchedResultsController(request, context: context)
        try controller.performFetch()
        try blocker.write {
            try $0.execute(
                sql: "INSERT INTO C_Task(title, priority, completed, myDay) "
                    + "VALUES ('b', 0, 0, 0)")
        }
        try whileBlocked {
            _ = try? container.coordinator.checkForExternalChanges()
            try container.coordinator.publishUnknown(["C_Task"])
            context.performAndWait {}
            #expect(controller.snapshot?.objects.count == 1)
        }
        context.performAndWait {}
        #expect(controller.snapshot?.objects.map(\.title) == ["a", "b"])
        #expect(controller.lastError == nil)
    }

    @MainActor @Test func aRetainedValueIsNotGoneWhenItCannotBeRead() throws {
        let fault = try #require(try context.existingObject(with: task) as? TodoTask)
        let shown = try #require(RetainedValue(fault.eraseToAny()))
        try context.refresh(fault, mergeChanges: false)
        try whileBlocked {
            shown.refresh()
            #expect(!shown.isGone)
            #expect(shown.readError != nil)
            #expect(shown.value.title == "a")
        }
        shown.refresh()
        #expect(shown.readError == nil)
    }

    @Test func nothingIsInventedForAnObjectThatWasNeverRead() throws {
        let fault = try #require(try context.object(with: task) as? TodoTask)
        try blocker.write { try $0.execute(sql: "DELETE FROM C_Task") }
        #expect(fault.priority == nil)
        #expect(fault.state.isGone)
        let error = #expect(throws: ObjectError.self) { try fault.readValue(forKey: "priority") }
        #expect(error?.code == .gone)
        fault.title = "kept"
        #expect(fault.title == "kept")
        #expect(fault.priority == nil)
        #expect(fault.completed == nil)
    }
}
