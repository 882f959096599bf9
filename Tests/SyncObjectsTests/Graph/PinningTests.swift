import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// Contexts that stay at one state of the store.
@Suite final class PinningTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private let ids: [ManagedObjectID]

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        context = try container.newBackgroundContext(author: "me")
        other = try container.newBackgroundContext(author: "them")
        let writer = try container.newBackgroundContext()
        ids = try ["a", "b"].map { title in
            let task = try TodoTask(context: writer)
            task.title = title
            return task.objectID
        }
        try writer.save()
    }

    @Test("Q-01, E-62: what others write and delete is not seen")
    func aPinnedContextStays() throws {
        let fault = try #require(try context.object(with: ids[0]) as? TodoTask)
        try context.pin()
        try other.delete(TodoTask.self, id: .objectID(ids[0]))
        try other.update(TodoTask.self, id: .objectID(ids[1])) { $0.title = "theirs" }
        _ = try TodoTask(context: other)
        try other.save()
        let request = FetchRequest<TodoTask>(sortedBy: [SortKey("title")])
        #expect(try context.fetch(request).map(\.title) == ["a", "b"])
        #expect(fault.title == "a")
        #expect(fault.state == .clean)
        #expect(try context.count(for: request) == 2)
        // Saving over what others wrote is refused, and nothing moves.
        fault.title = "edited"
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .snapshotTooOld)
        #expect(fault.title == "edited")
        try context.unpin()
        let gone = #expect(throws: ObjectError.self) { try context.save() }
        #expect(gone?.code == .deletedElsewhere)
        #expect(fault.state.isGone)
        try context.discardEdits(of: fault)
        #expect(try context.fetch(request).map(\.title) == [nil, "theirs"])
    }

    @Test("Q-04: a save moves the pin, and others see it") func savesMoveThePin() throws {
        try context.pin()
        let task = try #require(try context.existingObject(with: ids[0]) as? TodoTask)
        task.title = "mine"
        try context.save()
        #expect(task.state == .clean)
        #expect(context.pinnedState != nil)
        #expect(try (other.existingObject(with: ids[0]) as? TodoTask)?.title == "mine")
        try other.update(TodoTask.self, id: .objectID(ids[1])) { $0.title = "theirs" }
        let second = try #require(try context.existingObject(with: ids[1]) as? TodoTask)
        #expect(second.title == "b")
        try context.mergeChanges()
        #expect(second.title == "theirs")
        try other.update(TodoTask.self, id: .objectID(ids[1])) { $0.title = "again" }
        context.reset()
        #expect(try (context.existingObject(with: ids[1]) as? TodoTask)?.title == "again")
    }

    @Test("Q-05: two contexts at one state") func contextsShareAPin() throws {
        try context.pin()
        try other.update(TodoTask.self, id: .objectID(ids[0])) { $0.title = "later" }
        let third = try container.newBackgroundContext()
        try third.pin(to: context)
        #expect(third.pinnedState?.since == context.pinnedState?.since)
        for pinned in [context, third] {
            #expect(try (pinned.existingObject(with: ids[0]) as? TodoTask)?.title == "a")
        }
        // Who moves, moves alone.
        try context.mergeChanges()
        #expect(try (context.existingObject(with: ids[0]) as? TodoTask)?.title == "later")
        let fault = try #require(try third.object(with: ids[1]) as? TodoTask)
        try other.update(TodoTask.self, id: .objectID(ids[1])) { $0.title = "later too" }
        #expect(fault.title == "b")
        #expect(throws: ObjectError.self) { try third.pin(to: other) }
        // A save would move the other one.
        try context.pin(to: third)
        fault.title = "mine"
        let error = #expect(throws: ObjectError.self) { try third.save() }
        #expect(error?.code == .invalidRequest)
        #expect(fault.title == "mine")
    }

    @Test("Q-06: another process's writes") func otherProcesses() async throws {
        try context.pin()
        try await SharedStore.run(
            folder.file("store.sqlite").path, "DELETE FROM C_Task", usesPython: false)
        #expect(try context.fetch(TodoTask.self).count == 2)
        try container.coordinator.checkForExternalChanges()
        #expect(try context.fetch(TodoTask.self).count == 2)
        try context.unpin()
        #expect(try context.fetch(TodoTask.self).isEmpty)
    }

    @Test("Q-02, Q-03, Q-07: which stores, and what it costs") func costAndLimits() throws {
        let memory = try PersistentContainer.inMemory(try TodoModel.make())
        let error = #expect(throws: ObjectError.self) { try memory.viewContext.pin() }
        #expect(error?.code == .invalidRequest)
        #expect(throws: ObjectError.self) { try context.makeChild().pin() }
        #expect(context.pinnedState == nil)
        try context.pin()
        let before = try #require(context.pinnedState)
        for number in 0..<200 {
            try other.update(TodoTask.self, id: .objectID(ids[0])) { $0.title = "\(number)" }
        }
        let after = try #require(context.pinnedState)
        #expect(after.since == before.since)
        #expect(after.walBytes > before.walBytes)
        try context.unpin()
        #expect(try (context.existingObject(with: ids[0]) as? TodoTask)?.title == "199")
    }
}
