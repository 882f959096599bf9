import Foundation
import SyncTesting
import Synchronization
import Testing

@testable import SyncObjects

@Suite final class ResultsTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private let request = FetchRequest<TodoTask>(
        where: FetchPredicate.comparison(
            .init(.keyPath(["completed"]), .equal, .constant(.boolean(false)))),
        sortedBy: [SortKey("priority"), SortKey("title")])

    init() throws {
        container = try PersistentContainer.inMemory(try TodoModel.make())
        context = try container.newBackgroundContext()
        other = try container.newBackgroundContext()
    }

    @discardableResult
    private func add(
        _ title: String, _ priority: Int, in context: ManagedObjectContext
    ) throws -> TodoTask {
        let task = try TodoTask(context: context)
        task.title = title
        task.priority = priority
        return task
    }

    private func titles(_ controller: FetchedResultsController<TodoTask>) -> [String?] {
        controller.snapshot?.objects.map(\.title) ?? []
    }

    @Test func orderIsNeededAndSectionsFollowIt() throws {
        #expect(throws: ObjectError(.invalidRequest, "")) {
            try FetchedResultsController(FetchRequest<TodoTask>(), context: context)
        }
        #expect(throws: ObjectError(.invalidRequest, "")) {
            try FetchedResultsController(request, context: context, sectionKey: "title")
        }
        let controller = try FetchedResultsController(request, context: context)
        #expect(controller.snapshot == nil)
    }

    @Test func updatesSayWhatChanged() async throws {
        let a = try add("a", 1, in: context)
        let b = try add("b", 2, in: context)
        let c = try add("c", 3, in: context)
        try context.save()
        let controller = try FetchedResultsController(request, context: context)
        try controller.performFetch()
        var updates = controller.updates.makeAsyncIterator()
        let initial = try #require(await updates.next())
        #expect(initial.isInitial)
        #expect(initial.inserted.count == 3)
        let frozen = initial.snapshot

        a.priority = 9
        context.processPendingChanges()
        let moved = try #require(await updates.next())
        #expect(moved.moved.map(\.id) == [a.objectID])
        #expect(moved.inserted.isEmpty && moved.removed.isEmpty && !moved.isInitial)

        b.createDate = Date()
        context.processPendingChanges()
        #expect(await updates.next()?.reconfigured == [b.objectID])

        // Deleted and another one in its place: a removal and an insertion.
        try context.delete(b)
        let d = try add("d", 2, in: context)
        try context.save()
        let replaced = try #require(await updates.next())
        #expect(replaced.removed.map(\.id) == [b.objectID])
        #expect(replaced.removed.map(\.place) == [0])
        #expect(replaced.inserted.map(\.id) == [d.objectID])
        #expect(replaced.inserted.map(\.place) == [0])

        c.completed = true
        context.processPendingChanges()
        #expect(await updates.next()?.removed.map(\.id) == [c.objectID])
        #expect(frozen.objects.map(\.title) == ["a", "b", "c"])
        #expect(titles(controller) == ["d", "a"])
    }

    @Test func unrelatedChangesSayNothing() async throws {
        let controller = try FetchedResultsController(request, context: context)
        try controller.performFetch()
        var updates = controller.updates.makeAsyncIterator()
        _ = await updates.next()
        try TodoGroup(context: context).title = "x"
        try add("done", 1, in: context).completed = true
        try context.save()
        try add("seen", 1, in: context)
        try context.save()
        #expect(await updates.next()?.inserted.count == 1)
    }

    @Test func othersSavesArrive() throws {
        let controller = try FetchedResultsController(request, context: context)
        try controller.performFetch()
        let task = try add("x", 1, in: other)
        try other.save()
        context.performAndWait {}
        #expect(titles(controller) == ["x"])
        task.title = "y"
        try other.save()
        context.performAndWait {}
        #expect(titles(controller) == ["y"])
        try other.delete(task)
        try other.save()
        context.performAndWait {}
        #expect(titles(controller) == [])
    }

    @Test func incrementalResultsEqualAFetch() throws {
        for seed in TestSeed.each(of: 1...20) {
            var random = seed.random
            let container = try PersistentContainer.inMemory(try TodoModel.make())
            let mine = try container.newBackgroundContext()
            let theirs = try container.newBackgroundContext()
            mine.mergePolicy = .keepStored
            theirs.mergePolicy = .keepStored
            let controller = try FetchedResultsController(
                request, context: mine, sectionKey: "priority")
            try controller.performFetch()
            for _ in 0..<120 {
                let context = random.next() % 2 == 0 ? mine : theirs
                let all = try context.fetch(TodoTask.self)
                let task = all.randomElement(using: &random)
                switch random.next() % 6 {
                case 0, 1:
                    try add("\(random.next() % 9)", Int(random.next() % 4), in: context)
                case 2: task?.priority = Int(random.next() % 4)
                case 3: task?.completed = random.next() % 2 == 0
                case 4: if let task { try context.delete(task) }
                default: try context.save()
                }
                mine.performAndWait {}
                let snapshot = try #require(controller.snapshot)
                let fetched = try mine.fetch(request)
                #expect(snapshot.ids == fetched.map(\.objectID), "\(seed)")
                #expect(snapshot.sections.reduce(0) { $0 + $1.count } == snapshot.ids.count)
            }
        }
    }

    /// The list is read again while the store is ahead of what the context has merged.
    @Test func theOrderIsThatOfTheValuesThatAreShown() throws {
        for seed in TestSeed.each(of: 1...10) {
            var random = seed.random
            let container = try PersistentContainer.inMemory(try TodoModel.make())
            let mine = try container.newBackgroundContext()
            let theirs = try container.newBackgroundContext()
            let all = try (0..<100).map { try add("\($0)", $0, in: theirs) }
            try theirs.save()
            let controller = try FetchedResultsController(request, context: mine)
            try controller.performFetch()
            // What the others save comes to this context when the test says so.
            let coordinator = try container.coordinator
            let recorder = Recorder()
            coordinator.remove(mine)
            coordinator.add(recorder)
            // One save of so much that the list is read again, then many small ones.
            for task in all[..<70] { task.title = "new" }
            try theirs.save()
            for task in all.shuffled(using: &random)[..<20] {
                task.priority = Int(random.next() % 100)
                try theirs.save()
            }
            for change in recorder.changes {
                mine.receive(change)
                mine.performAndWait {}
                let shown = try #require(controller.snapshot).objects
                let values = shown.map { ($0.priority ?? 0, $0.title ?? "") }
                #expect(zip(values, values.dropFirst()).allSatisfy { $0 <= $1 }, "\(seed)")
            }
            #expect(
                try controller.snapshot?.ids == theirs.fetch(request).map(\.objectID), "\(seed)")
        }
    }

    /// Keeps the changes of a store.
    private final class Recorder: ChangeListener {
        private let received = Mutex<[StoreChange]>([])

        var changes: [StoreChange] { received.withLock { $0 } }

        func receive(_ change: StoreChange) { received.withLock { $0.append(change) } }

        func didSave(_ change: SavedChange) {}
    }

    @Test func sectionsAreOneArrayWithOffsets() throws {
        for (title, priority) in [("a", 2), ("b", 1), ("c", 2), ("d", 1), ("e", 5)] {
            try add(title, priority, in: context)
        }
        let controller = try FetchedResultsController(
            request, context: context, sectionKey: "priority")
        let snapshot = try controller.performFetch()
        #expect(snapshot.sections.map(\.name) == ["1", "2", "5"])
        #expect(snapshot.sections.map(\.offset) == [0, 2, 4])
        #expect(snapshot.sections.map(\.count) == [2, 2, 1])
        #expect(snapshot.indexPath(of: 3)?.section == 1)
        #expect(snapshot.indexPath(of: 3)?.row == 1)
        #expect(snapshot.indexPath(of: 5) == nil)
        let items = snapshot.itemsWithMarks
        #expect(items.count == 5 + 6)
        #expect(Set(items.map(\.id)).count == items.count)
        try context.delete(snapshot.objects[4])
        context.processPendingChanges()
        #expect(controller.snapshot?.sections.map(\.name) == ["1", "2"])
        #expect(snapshot.sections.count == 3)
    }

    @Test func resetEndsTheUpdates() async throws {
        let controller = try FetchedResultsController(request, context: context)
        try controller.performFetch()
        let updates = controller.updates
        context.reset()
        var count = 0
        for await _ in updates { count += 1 }
        #expect(count == 1)
        #expect(controller.snapshot == nil)
    }

    @Test func countsFollowEverybody() async throws {
        var counts = try context.counts(of: FetchRequest<TodoTask>()).makeAsyncIterator()
        #expect(await counts.next() == 0)
        for index in 0..<3 {
            try add("\(index)", 0, in: other)
            try other.save()
        }
        var last = 0
        while last < 3, let count = await counts.next() { last = count }
        #expect(last == 3)
    }

    @Test func batchesFollowTheRulesAndTellContexts() throws {
        let ids = try context.batchInsert(
            "C_Task", objects: (0..<5).map { (n: Int) in ["title": "t\(n)", "priority": n] })
        #expect(ids.count == 5)
        #expect(!context.hasChanges)
        let tasks = try other.fetch(FetchRequest<TodoTask>(sortedBy: [SortKey("title")]))
        #expect(tasks[0].completed == false)
        let high = FetchRequest<TodoTask>(where: try FetchPredicate("priority > 2"))
        #expect(try context.batchUpdate(high, set: ["title": "high"]).count == 2)
        other.performAndWait {}
        #expect(tasks[4].title == "high")
        let group = try TodoGroup(context: other)
        group.tasks = [tasks[0], tasks[1]]
        try other.save()
        #expect(try context.batchDelete(FetchRequest<TodoGroup>()).count == 3)
        other.performAndWait {}
        #expect(group.state.isGone)
        #expect(tasks[0].state.isGone)
        #expect(throws: ObjectError(.unknownProperty, "")) {
            try context.batchInsert("C_Task", objects: [["nothing": 1]])
        }
    }
}
