import Foundation
import Testing

@testable import SyncObjects

struct TaskValue: BaseValueProtocol {
    let id: WrappedID
    var title: String
    var memo: String?
}

extension TodoTask: ConvertibleValueObservableObject {
    func convertToValueType() -> TaskValue? {
        snapshot { TaskValue(id: $0.id, title: $0.title ?? "", memo: $0.memo?.content) }
    }
}

struct Sources: ObjectsDataSource {
    var tasks: FetchDataSource<TaskValue>

    static let live = Sources(tasks: .fetchRequest)
    static let mock = Sources(
        tasks: .mockObjects(
            EquatableObjects([
                MockObject(TaskValue(id: .string("1"), title: "mock")).eraseToAny()
            ])))
}

@Suite final class ConversionTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let task: TodoTask

    init() throws {
        container = try PersistentContainer.inMemory(try TodoModel.make())
        context = try container.newBackgroundContext()
        task = try TodoTask(context: context)
        task.title = "a"
        task.memo = try TodoMemo(context: context)
        task.memo?.content = "m"
        try context.save()
    }

    private func deleteElsewhere() throws {
        let other = try container.newBackgroundContext()
        try other.delete(try other.existingObject(with: task.objectID))
        try other.save()
        context.performAndWait {}
    }

    @Test func valuesOfLiveAndGoneObjects() async throws {
        let task = task
        let value = await Task.detached { task.convertToValueType() }.value
        #expect(value == TaskValue(id: .objectID(task.objectID), title: "a", memo: "m"))
        try deleteElsewhere()
        #expect(await Task.detached { task.convertToValueType() }.value == nil)
        #expect(task.eraseToAny().wrappedValue == nil)
    }

    @Test func aConversionIsNeverHalfOfAChange() async throws {
        let task = task
        let context = context
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for index in 0..<500 {
                    context.performAndWait {
                        task.title = "\(index)"
                        task.memo?.content = "\(index)"
                    }
                }
            }
            group.addTask {
                for _ in 0..<500 {
                    guard let value = task.convertToValueType() else { continue }
                    #expect(value.title == value.memo || value.title == "a")
                }
            }
        }
    }

    @MainActor @Test func lastValidValueStays() throws {
        let shown = try #require(RetainedValue(task.eraseToAny()))
        task.title = "b"
        shown.refresh()
        #expect(shown.value.title == "b")
        try deleteElsewhere()
        shown.refresh()
        #expect(shown.isGone)
        #expect(shown.value.title == "b")
        #expect(RetainedValue(task.eraseToAny()) == nil)
    }

    @Test func changesArriveAndEnd() async throws {
        let changes = task.changes
        try deleteElsewhere()
        var count = 0
        for await _ in changes {
            count += 1
            if task.state.isGone { break }
        }
        #expect(count > 0)
    }

    @Test func updatesAreConfirmedTwice() throws {
        let value = try #require(task.convertToValueType())
        let writer = try container.newBackgroundContext()
        try writer.update(TodoTask.self, id: value.id) { $0.title = "written" }
        context.performAndWait {}
        #expect(task.title == "written")
        // It goes between the look and the save.
        let racer = try container.newBackgroundContext()
        writer.automaticallyMergesChangesFromParent = false
        let error = #expect(throws: ObjectError.self) {
            try writer.update(TodoTask.self, id: value.id) { object in
                object.title = "late"
                try racer.delete(try racer.existingObject(with: object.objectID))
                try racer.save()
            }
        }
        #expect(error?.code == .deletedElsewhere)
        #expect(!writer.hasChanges)
        try writer.mergeChanges()
        #expect(throws: ObjectError(.noSuchObject, "")) {
            try writer.update(TodoTask.self, id: value.id) { $0.title = "never" }
        }
        #expect(throws: ObjectError(.noSuchObject, "")) {
            try writer.delete(TodoTask.self, id: value.id)
        }
        #expect(throws: ObjectError(.noSuchObject, "")) {
            try writer.update(TodoTask.self, id: .string("mock")) { $0.title = "never" }
        }
        #expect(try writer.count(for: FetchRequest<TodoTask>()) == 0)
    }

    @Test func staleIncarnationsAreRefused() throws {
        let value = try #require(task.convertToValueType())
        task.title = "edited"
        let other = try container.newBackgroundContext()
        try other.delete(try other.existingObject(with: task.objectID))
        try other.save()
        context.mergePolicy = .keepLocal
        try context.save()
        let writer = try container.newBackgroundContext()
        #expect(throws: ObjectError(.staleIncarnation, "")) {
            try writer.update(TodoTask.self, id: value.id) { $0.title = "stale" }
        }
        try writer.update(TodoTask.self, id: task.id) { $0.title = "fresh" }
    }

    @Test func wrappedIDsTellTheirKind() {
        let id = UUID()
        #expect(WrappedID.uuid(id).uuidID == id)
        #expect(WrappedID.uuid(id).stringID == nil)
        #expect(WrappedID.integer(3).description == "3")
        #expect(WrappedID.integer(3).integerID == 3 && WrappedID.uuid(id).integerID == nil)
        #expect(WrappedID.string("a").id == .string("a"))
        #expect(WrappedID.objectID(task.objectID).objectID == task.objectID)
    }

    @Test func mocksBehaveAsObjectsDo() async throws {
        let mock = MockObject(TaskValue(id: .string("1"), title: "a"))
        var changes = mock.changes.makeAsyncIterator()
        mock.title = "b"
        #expect(await changes.next() != nil)
        #expect(mock.title == "b")
        #expect(mock.id == .string("1"))
        #expect(mock == MockObject(TaskValue(id: .string("1"), title: "b")))
        let other = MockObject(TaskValue(id: .string("1"), title: "z"))
        #expect(mock != other)
        #expect(mock.eraseToAny() == other.eraseToAny())
        mock.delete()
        #expect(mock.convertToValueType() == nil)
    }

    @Test func listsSwitchBetweenMockAndLive() async throws {
        let list = MockableFetchRequest(\Sources.tasks)
        #expect(list.objects.isEmpty)
        try list.connect(to: Sources.mock)
        #expect(list.objects.map { $0.wrappedValue?.title } == ["mock"])
        #expect(throws: ObjectError(.invalidRequest, "")) {
            try list.setRequest(FetchRequest("C_Task", sortedBy: [SortKey("title")]))
            try list.connect(to: Sources.live)
        }
        var deliveries = list.deliveries.makeAsyncIterator()
        try list.connect(to: Sources.live, context: context)
        #expect(await deliveries.next()?.objects.map(\.id) == [task.id])
        // An edit changes no identity, so nothing is delivered for it.
        task.title = "c"
        try context.save()
        let added = try TodoTask(context: context)
        added.title = "b"
        try context.save()
        #expect(await deliveries.next()?.objects.map(\.id) == [added.id, task.id])
    }

    @Test func objectsThatCannotBeConvertedAreReported() throws {
        _ = try TodoGroup(context: context)
        try context.save()
        let list = MockableFetchRequest(
            \Sources.tasks, request: FetchRequest("C_Group", sortedBy: [SortKey("title")]))
        try list.connect(to: Sources.live, context: context)
        #expect(list.objects.isEmpty)
        #expect(list.dropped.count == 1)
    }
}
