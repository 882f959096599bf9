import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// States, events, refreshing, child contexts and undo where others save; limits of relationships.
@Suite struct StateTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext

    init() throws {
        container = try PersistentContainer.inMemory(try TodoModel.make())
        context = try container.newBackgroundContext(author: "me")
        other = try container.newBackgroundContext(author: "them")
    }

    private func add(_ title: String) throws -> TodoTask {
        let task = try TodoTask(context: context)
        task.title = title
        return task
    }

    @Test("X-07, X-09: each state, and one event for a deletion") func statesAreExact() async throws
    {
        let task = try add("a")
        #expect(task.state == .inserted)
        try context.save()
        #expect(task.state == .clean)
        task.title = "b"
        #expect(task.state == .updated)
        try context.save()
        let events = task.events
        try context.delete(task)
        #expect(task.state == .deletePending)
        try context.save()
        #expect(task.gone?.author == "me")
        var iterator = events.makeAsyncIterator()
        guard case .gone(let gone)? = await iterator.next() else {
            Issue.record("no event")
            return
        }
        #expect(gone.cause == .deleted)
    }

    @Test("X-08: made and deleted without a save") func neverSaved() async throws {
        let events = context.events
        let task = try add("brief")
        try context.delete(task)
        #expect(task.gone?.cause == .neverSaved)
        _ = try add("kept")
        try context.save()
        for await event in events {
            guard case .didSave(let inserted, _, let deleted) = event else { continue }
            #expect(deleted.isEmpty)
            #expect(inserted.count == 1)
            break
        }
    }

    @Test("X-14, X-15: a fault whose row is gone") func inaccessibleFaults() throws {
        let task = try add("a")
        try context.save()
        let reader = try container.newBackgroundContext()
        reader.automaticallyMergesChangesFromParent = false
        let fault = try #require(try reader.object(with: task.objectID) as? TodoTask)
        try context.delete(task)
        try context.save()
        #expect(fault.isFault && !fault.isDeleted)
        #expect(fault.title == nil)
        #expect(fault.isDeleted)
        let error = #expect(throws: ObjectError.self) { try fault.readValue(forKey: "title") }
        #expect(error?.code == .gone)
        #expect(error?.object == task.objectID)
        // It does not block a save.
        try reader.save()
        try reader.mergeChanges()
        #expect(fault.gone?.author == "me")
    }

    @Test("X-20, X-21: no read is older than the last commit") func readsAreNeverOld() throws {
        let task = try add("a")
        try context.save()
        let reader = try container.newBackgroundContext()
        reader.automaticallyMergesChangesFromParent = false
        #expect(try reader.fetch(TodoTask.self).map(\.title) == ["a"])
        task.title = "b"
        try context.save()
        // It was not held, so that nothing is left of it.
        #expect(try reader.fetch(TodoTask.self).map(\.title) == ["b"])
        let held = try #require(try reader.fetch(TodoTask.self).first)
        task.title = "c"
        try context.save()
        #expect(held.title == "b")
        try reader.refresh(held, mergeChanges: true)
        _ = held.title
        try reader.refresh(held, mergeChanges: false)
        #expect(held.title == "c")
    }

    @Test("X-29: an id is the same before and after the save") func idsArePermanentFromBirth()
        throws
    {
        let task = try add("a")
        let id = task.objectID
        #expect(!id.isTemporary)
        try context.save()
        #expect(task.objectID == id)
    }

    @Test("X-19: everything is read again, edits stay") func refreshAll() throws {
        let tasks = [try add("a"), try add("b")]
        try context.save()
        context.automaticallyMergesChangesFromParent = false
        for task in tasks { try other.update(TodoTask.self, id: task.id) { $0.priority = 7 } }
        tasks[0].title = "edited"
        try context.refreshAllObjects()
        #expect(tasks.map(\.priority) == [7, 7])
        #expect(tasks[0].title == "edited")
        #expect(tasks[0].state == .updated)
        #expect(tasks[1].state == .clean)
    }

    @Test("X-25: changes are notified once") func pendingChangesAreToldOnce() async throws {
        let events = context.events
        let task = try add("a")
        task.title = "b"
        context.processPendingChanges()
        context.processPendingChanges()
        try context.save()
        var changes = 0
        for await event in events {
            if case .didChange = event { changes += 1 }
            if case .didSave = event { break }
        }
        #expect(changes == 1)
    }

    @Test("D-04: a nested value loses what was deleted") func nestedValues() throws {
        let task = try add("a")
        task.memo = try TodoMemo(context: context)
        task.memo?.content = "m"
        try context.save()
        #expect(task.convertToValueType()?.memo == "m")
        let memo = try #require(task.memo)
        try other.delete(TodoMemo.self, id: memo.id)
        context.performAndWait {}
        #expect(task.convertToValueType()?.memo == nil)
        #expect(task.convertToValueType()?.title == "a")
    }

    @Test("M-10, P-04: how many a relationship may have") func cardinality() throws {
        var members = RelationshipDescription.toMany("members", to: "Member", inverse: "team")
        members.minCount = 2
        members.maxCount = 3
        members.isOptional = false
        let model = try ManagedObjectModel([
            EntityDescription("Team", relationships: [members]),
            EntityDescription(
                "Member", relationships: [.toOne("team", to: "Team", inverse: "members")]),
        ])
        let context = try PersistentContainer.inMemory(model).newBackgroundContext()
        let team = try context.insert("Team")
        for (count, code) in [(1, ObjectError.Code.tooFew), (4, .tooMany)] {
            try team.setValue(
                try (0..<count).map { _ in try context.insert("Member") }, forKey: "members")
            let error = #expect(throws: ObjectError.self) { try context.save() }
            #expect(error?.code == code)
        }
    }

    @Test("P-10, E-21: no action") func noActionLeavesAReference() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make(groupRule: .noAction))
        let context = try container.newBackgroundContext()
        let group = try TodoGroup(context: context)
        let task = try TodoTask(context: context)
        task.group = group
        try context.save()
        try context.delete(group)
        try context.save()
        let fresh = try container.newBackgroundContext()
        let same = try #require(try fresh.fetch(TodoTask.self).first)
        // A reference to what is gone reads as gone, never as a crash.
        let target = same.group
        #expect(target == nil || target?.title == nil)
        #expect(same.group == nil)
    }

    @Test("U-06: a child takes over what its parent saved") func childrenMerge() throws {
        let task = try add("a")
        try context.save()
        let child = context.makeChild()
        let copy = try #require(try child.existingObject(with: task.objectID) as? TodoTask)
        task.title = "b"
        try context.save()
        child.performAndWait {}
        #expect(copy.title == "b")
    }

    @Test("U-14, U-15: faults and merges are no steps") func mergesAreNotUndone() throws {
        let task = try add("a")
        try context.save()
        context.isUndoEnabled = true
        try context.refresh(task, mergeChanges: false)
        #expect(task.title == "a")
        #expect(!context.canUndo)
        try other.update(TodoTask.self, id: task.id) { $0.title = "theirs" }
        context.performAndWait {}
        #expect(task.title == "theirs")
        #expect(!context.canUndo)
        task.title = "mine"
        context.rollback()
        #expect(!context.canUndo)
    }

    @Test("E-57: closed with pending deletions") func closingPersistsNothing() throws {
        let folder = try TemporaryFolder()
        let container = try folder.container()
        let task = try TodoTask(context: try container.viewContext)
        try container.viewContext.save()
        try container.viewContext.delete(task)
        container.close()
        let again = try folder.container()
        #expect(try again.viewContext.count(for: FetchRequest<TodoTask>()) == 1)
    }

    @Test("E-58: the entity is removed while its objects are held") func removedEntities() throws {
        let folder = try TemporaryFolder()
        let container = try folder.container()
        let context = try container.newBackgroundContext()
        let memo = try TodoMemo(context: context)
        memo.content = "m"
        try context.save()
        _ = try container.coordinator.checkForExternalChanges()
        let raw = try folder.container()
        try raw.coordinator.queue.write { try $0.execute(sql: "DROP TABLE C_Memo") }
        _ = try? container.coordinator.checkForExternalChanges()
        context.performAndWait {}
        #expect(memo.content == "m")
        #expect(throws: ObjectError.self) { try context.fetch(TodoMemo.self) }
    }

    @Test("D-17: ten thousand values") func manyConversions() throws {
        for number in 0..<10_000 { _ = try add("t\(number)") }
        try context.save()
        let tasks = try context.fetch(TodoTask.self)
        let values = tasks.map { $0.eraseToAny() }.compactMap(\.wrappedValue)
        #expect(values.count == 10_000)
        #expect(Set(values.map(\.id)).count == 10_000)
    }
}
