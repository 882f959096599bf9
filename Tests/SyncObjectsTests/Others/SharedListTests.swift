import Foundation
import Testing

@testable import SyncObjects

/// Lists, values, pins and derived values while another process deletes what they show: with syncd
/// up, down, and restarted in the middle.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SharedListTests {
    @Test("E-04, E-18: lists that are gone through stay whole", arguments: DaemonFate.allCases)
    func listsStayWhole(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let group = try TodoGroup(context: store.context)
        for number in 0..<5 { _ = try store.add("t\(number)", group) }
        try store.context.save()
        try await store.follow()
        let fetched = try store.context.fetch(
            FetchRequest<TodoTask>(sortedBy: [SortKey("title")]))
        let members = group.tasks
        var titles: [String?] = []
        for (number, task) in fetched.enumerated() {
            if number == 1 {
                try await store.write("DELETE FROM C_Task WHERE title IN ('t2', 't3')")
                try await store.expectEventually { fetched[2].state.isGone }
            }
            titles.append(task.title)
        }
        #expect(titles == ["t0", "t1", "t2", "t3", "t4"])
        #expect(members.count == 5)
        #expect(members.filter(\.state.isGone).count == 2)
        try await store.expectEventually { group.tasks.count == 3 }
    }

    @Test("E-05: deleted between two batches", arguments: DaemonFate.allCases)
    func batchesSkipNobody(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        for number in 0..<60 { _ = try store.add("t", priority: number) }
        try store.context.save()
        let reader = try store.container.newBackgroundContext()
        try await store.follow()
        var request = FetchRequest<TodoTask>(sortedBy: [SortKey("priority")])
        request.batchSize = 20
        let tasks = try reader.fetch(request)
        #expect(tasks[0].priority == 0)
        try await store.write("DELETE FROM C_Task WHERE priority IN (10, 25, 59)")
        // The first batch was read: its object is reported with its values, the others without.
        try await store.expectEventually { tasks[10].state.isGone }
        #expect(tasks[10].priority == 10)
        let seen = tasks.map(\.priority)
        #expect(tasks.count == 60)
        #expect(seen.compactMap { $0 } == (0..<60).filter { $0 != 25 && $0 != 59 })
        #expect(tasks[25].state.isGone && tasks[59].state.isGone)
    }

    @Test("E-22, E-36: an object with edits, deleted by plain SQL", arguments: DaemonFate.allCases)
    func editedAndDeletedInBulk(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let group = try TodoGroup(context: store.context)
        let tasks = try (0..<3).map { try store.add("t\($0)", group) }
        try store.context.save()
        try await store.follow()
        tasks[0].title = "edited"
        try await store.write("DELETE FROM C_Task WHERE title IN ('t0', 't1')")
        try await store.expectEventually { tasks[0].state.isGone && tasks[1].state.isGone }
        #expect(tasks[0].changedValues["title"] as? String == "edited")
        #expect(tasks[1].changedValues.isEmpty)
        let error = #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(error?.code == .deletedElsewhere)
        try store.context.discardEdits(of: tasks[0])
        #expect(!store.context.hasChanges)
        #expect(group.tasks == [tasks[2]])
    }

    @Test("E-47: the object that a predicate looks at is deleted", arguments: DaemonFate.allCases)
    func predicatesOverOthers(fate: DaemonFate) async throws {
        let store = try await SharedStore(
            fate, try TodoModel.make(groupRule: .nullify))
        let group = try TodoGroup(context: store.context)
        group.title = "home"
        let task = try store.add("a", group)
        try store.context.save()
        try await store.follow()
        let controller = try FetchedResultsController(
            FetchRequest<TodoTask>(
                where: try FetchPredicate("group.title == %@", "home"),
                sortedBy: [SortKey("title")]), context: store.context)
        #expect(try controller.performFetch().objects == [task])
        try await store.write("DELETE FROM C_Group")
        try await store.expectEventually { controller.snapshot?.objects.isEmpty == true }
        #expect(!task.state.isGone)
        #expect(task.group == nil)
    }

    @Test("E-49, E-50: writes through a value", arguments: DaemonFate.allCases)
    func valuesWriteNobodyElse(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        try store.context.save()
        let value = try #require(task.convertToValueType())
        try await store.follow()
        try await store.write("DELETE FROM C_Task")
        try await store.expectEventually { task.state.isGone }
        let writer = try store.container.newBackgroundContext()
        #expect(throws: ObjectError(.noSuchObject, "")) {
            try writer.update(TodoTask.self, id: value.id) { $0.title = "never" }
        }
        try await store.write(
            "INSERT INTO C_Task(id, title, priority, completed, myDay) "
                + "VALUES (\(task.objectID.key), 'new', 0, 0, 0)")
        try await store.expectEventually {
            try store.context.fetch(TodoTask.self).map(\.title) == ["new"]
        }
        #expect(throws: ObjectError(.staleIncarnation, "")) {
            try writer.update(TodoTask.self, id: value.id) { $0.title = "never" }
        }
        let titles = try writer.fetch(TodoTask.self).map(\.title)
        #expect(titles == ["new"])
    }

    @Test("E-62: a pinned context", arguments: DaemonFate.allCases)
    func pinnedContextsStay(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        try store.context.save()
        let live = try store.container.newBackgroundContext()
        let seen = try #require(try live.existingObject(with: task.objectID) as? TodoTask)
        try await store.follow()
        try store.context.pin()
        try await store.write("DELETE FROM C_Task")
        try await store.expectEventually { seen.state.isGone }
        #expect(task.state == .clean)
        task.title = "edited"
        let error = #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(error?.code == .snapshotTooOld)
        try store.context.unpin()
        #expect(task.state.isGone)
        #expect(task.changedValues["title"] as? String == "edited")
    }
}
