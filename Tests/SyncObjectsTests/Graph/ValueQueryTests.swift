import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// Answers of the store without objects; batches by a handler; conflicts decided one by one; stores
/// that are emptied and replaced while they are open.
@Suite struct ValueQueryTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        context = try container.newBackgroundContext(author: "me")
        let group = try TodoGroup(context: context)
        for (title, priority) in [("a", 2), ("b", 1), ("c", 2), ("d", 1), ("e", 2)] {
            let task = try TodoTask(context: context)
            task.title = title
            task.priority = priority
            if title != "e" { task.group = group }
        }
        try context.save()
    }

    private var request: FetchRequest<TodoTask> {
        FetchRequest<TodoTask>(sortedBy: [SortKey("priority"), SortKey("title")])
    }

    @Test("F-04: values of the store") func dictionaries() throws {
        try context.fetch(request)[0].title = "unsaved"
        let all = try context.fetchValues(request)
        #expect(all.count == 5)
        #expect(all[0]["title"] as? String == "b")
        #expect(Set(all[0].keys) == ["title", "priority", "completed", "myDay"])
        let some = try context.fetchValues(request, of: ["title", "group"])
        #expect(some[0].count == 2)
        let group = try context.fetch(TodoGroup.self)[0]
        #expect(some[0]["group"] as? ManagedObjectID == group.objectID)
        #expect(some[4]["group"] == nil)
        #expect(throws: ObjectError.self) {
            try context.fetchValues(FetchRequest<TodoGroup>(), of: ["tasks"])
        }
    }

    @Test("F-05: aggregates and groups") func aggregates() throws {
        let whole = try context.fetchAggregates(
            request,
            computing: [
                AggregateExpression("n", computing: .count),
                AggregateExpression("sum", computing: .sum, of: "priority"),
                AggregateExpression("last", computing: .maximum, of: "title"),
            ])
        #expect(whole.count == 1)
        #expect(whole[0]["n"] as? Int64 == 5)
        #expect(whole[0]["sum"] as? Int64 == 8)
        #expect(whole[0]["last"] as? String == "e")
        let groups = try context.fetchAggregates(
            request, computing: [AggregateExpression("n", computing: .count)],
            groupedBy: ["priority"])
        #expect(groups.map { $0["priority"] as? Int16 } == [1, 2])
        #expect(groups.map { $0["n"] as? Int64 } == [2, 3])
    }

    @Test("F-29: sections counted by the store") func sections() throws {
        let sections = try context.sections(of: request, by: "priority")
        #expect(sections.map(\.name) == ["1", "2"])
        #expect(sections.map(\.offset) == [0, 2])
        #expect(sections.map(\.count) == [2, 3])
        let controller = try FetchedResultsController(
            request, context: context, sectionKey: "priority")
        #expect(try controller.performFetch().sections == sections)
        #expect(throws: ObjectError.self) { try context.sections(of: request, by: "title") }
    }

    @Test("B-02: a handler fills in") func batchByHandler() throws {
        var number = 0
        let ids = try context.batchInsert("C_Task") { values in
            number += 1
            values["title"] = "new \(number)"
            return number > 3
        }
        #expect(ids.count == 3)
        #expect(try context.count(for: request) == 8)
    }

    @Test("X-34: an unchanged object is compared") func conflictsOfUnchangedObjects() throws {
        let tasks = try context.fetch(request)
        let other = try container.newBackgroundContext()
        context.automaticallyMergesChangesFromParent = false
        try other.update(TodoTask.self, id: tasks[0].id) { $0.title = "theirs" }
        try context.detectConflicts(for: tasks[0])
        tasks[1].title = "mine"
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .mergeConflict)
        #expect(error?.object == tasks[0].objectID)
        context.mergePolicy = .keepStored
        try context.save()
        #expect(tasks[0].title == "theirs")
        #expect(tasks[1].state == .clean)
    }

    @Test("P-25: conflicts decided one by one") func resolversDecide() throws {
        let tasks = try context.fetch(request)
        let other = try container.newBackgroundContext()
        context.automaticallyMergesChangesFromParent = false
        for task in tasks.prefix(2) {
            try other.update(TodoTask.self, id: task.id) { $0.title = "theirs" }
        }
        try other.delete(TodoTask.self, id: tasks[2].id)
        for task in tasks.prefix(3) { task.title = "mine" }
        let first = tasks[0].objectID
        context.conflictResolver = { conflict in
            #expect(conflict.local?["title"] == .text("mine"))
            #expect(conflict.base["title"] != nil && conflict.base["memo"] == nil)
            #expect((conflict.kind == .deleted) == (conflict.stored == nil))
            return conflict.object.objectID == first ? .keepLocal : .keepStored
        }
        try context.save()
        #expect(tasks[0].title == "mine")
        #expect(tasks[1].title == "theirs")
        #expect(tasks[2].state.isGone)
        #expect(try container.coordinator.resolvedConflicts.count == 3)
        context.conflictResolver = { _ in throw ObjectError(.validation, "no") }
        try other.update(TodoTask.self, id: tasks[0].id) { $0.title = "again" }
        tasks[0].title = "mine too"
        #expect(throws: ObjectError.self) { try context.save() }
        #expect(tasks[0].changedValues["title"] as? String == "mine too")
    }

    @Test("C-27: emptied and replaced while open") func storesAreReplacedInPlace() throws {
        let tasks = try context.fetch(request)
        let other = try folder.container("other.sqlite")
        let writer = try other.newBackgroundContext()
        try TodoTask(context: writer).title = "other's"
        try writer.save()
        other.close()
        _ = try container.coordinator.checkForExternalChanges()
        try PersistentContainer.replaceStore(
            at: folder.file("store.sqlite"), with: folder.file("other.sqlite"))
        #expect(try container.coordinator.checkForExternalChanges())
        context.performAndWait {}
        #expect(try context.fetch(request).map(\.title) == ["other's"])
        #expect(tasks[1].state.isGone)
        try PersistentContainer.destroyStore(at: folder.file("store.sqlite"))
        #expect(throws: ObjectError.self) { try context.fetch(request) }
        #expect(tasks[1].title != nil)
        #expect(throws: ObjectError.self) {
            try PersistentContainer.replaceStore(
                at: folder.file("store.sqlite"), with: folder.file("none.sqlite"))
        }
    }

    @Test func aClosedContainerIsAnErrorNotACrash() throws {
        let tasks = try context.fetch(request)
        let fault = try context.object(with: tasks[0].objectID)
        let other = try container.newBackgroundContext()
        let unread = try #require(try other.object(with: tasks[0].objectID) as? TodoTask)
        container.close()
        #expect(unread.title == nil)
        #expect(unread.readError?.code == .contextReset)
        #expect(fault === tasks[0])
        let error = #expect(throws: ObjectError.self) { try context.fetch(request) }
        #expect(error?.code == .contextReset)
        tasks[1].title = "x"
        #expect(throws: ObjectError.self) { try context.save() }
    }
}
