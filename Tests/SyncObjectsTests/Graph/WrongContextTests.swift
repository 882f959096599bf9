import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// Objects that are given to another context than their own: an error, never nothing.
@Suite final class WrongContextTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let mine: ManagedObjectContext
    private let theirs: ManagedObjectContext
    private let task: TodoTask
    private let group: TodoGroup
    private let wrong = ObjectError(.wrongContext, "")

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        mine = try container.newBackgroundContext()
        theirs = try container.newBackgroundContext()
        task = try TodoTask(context: mine)
        group = try TodoGroup(context: theirs)
        try mine.save()
        try theirs.save()
    }

    private func count(_ table: String) throws -> Int? {
        try container.coordinator.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)")
        }
    }

    @Test func deletingIsRefused() throws {
        let error = #expect(throws: wrong) { try theirs.delete(task) }
        #expect(error?.entity == "C_Task")
        #expect(error?.hint != nil)
        #expect(throws: wrong) { try mine.makeChild().delete(task) }
        let other = try PersistentContainer.inMemory(try TodoModel.make())
        #expect(throws: wrong) { try other.newBackgroundContext().delete(task) }
        let detached = TodoTask(entity: try mine.model.entity("C_Task"), insertInto: nil)
        #expect(throws: wrong) { try mine.delete(detached) }
        #expect(task.state == .clean)
        #expect(try count("C_Task") == 1)
        try mine.delete(task)
        try mine.save()
        #expect(try count("C_Task") == 0)
        // Deleted twice is deleted.
        try mine.delete(task)
        try mine.save()
        #expect(throws: wrong) { try theirs.delete(task) }
    }

    @Test func whatAResetForgotIsNoDeletedRow() throws {
        mine.reset()
        #expect(throws: ObjectError(.gone, "")) { try mine.delete(task) }
        let found = try #require(try mine.fetch(TodoTask.self).first)
        try mine.delete(found)
        try mine.save()
        #expect(try count("C_Task") == 0)
    }

    @Test func refreshingAndDiscardingAreRefused() throws {
        task.title = "edited"
        #expect(throws: wrong) { try theirs.refresh(task, mergeChanges: true) }
        #expect(throws: wrong) { try theirs.refresh(task, mergeChanges: false) }
        #expect(throws: wrong) { try theirs.discardEdits(of: task) }
        #expect(throws: wrong) { try theirs.detectConflicts(for: task) }
        let detached = TodoTask(entity: try mine.model.entity("C_Task"), insertInto: nil)
        #expect(throws: wrong) { try mine.refresh(detached, mergeChanges: true) }
        #expect(throws: wrong) { try mine.discardEdits(of: detached) }
        #expect(task.title == "edited")
        try mine.discardEdits(of: task)
        #expect(task.title == nil)
    }

    @Test func relationshipsStayInTheirContext() throws {
        #expect(throws: wrong) { try task.setValue(group, forKey: "group") }
        task.group = group
        guard case .rejected(let error) = task.lastWrite else {
            Issue.record("not rejected")
            return
        }
        #expect(error.code == .wrongContext)
        #expect(throws: wrong) { try group.add(task, to: "tasks") }
        #expect(throws: wrong) { try group.remove(task, from: "tasks") }
        #expect(throws: wrong) { try group.setValue([task], forKey: "tasks") }
        let detached = TodoTask(entity: try mine.model.entity("C_Task"), insertInto: nil)
        #expect(throws: wrong) { try group.add(detached, to: "tasks") }
        #expect(throws: wrong) { try group.remove(detached, from: "tasks") }
        #expect(!mine.hasChanges && !theirs.hasChanges)
    }

    /// Predicates and batches take identities, so that the context does not matter. What does: the
    /// store, and the entity.
    @Test func identitiesOfOtherStoresAndEntitiesAreRefused() throws {
        let other = try PersistentContainer.inMemory(try TodoModel.make())
        let far = try TodoGroup(context: try other.newBackgroundContext())
        #expect(far.objectID.key == group.objectID.key)
        let all = FetchRequest<TodoTask>()
        let invalid = ObjectError(.invalidPredicate, "")
        for wrong in [far, task] as [ManagedObject] {
            let predicates = [
                try FetchPredicate("group == %@", wrong),
                try FetchPredicate("group IN %@", [wrong]),
                try FetchPredicate("group != %@", wrong.objectID),
            ]
            for predicate in predicates {
                let request = FetchRequest<TodoTask>(where: predicate)
                #expect(throws: invalid) { try mine.fetch(request) }
                #expect(throws: invalid) { try mine.batchDelete(request) }
            }
            #expect(throws: ObjectError.self) { try mine.batchUpdate(all, set: ["group": wrong]) }
            #expect(throws: ObjectError.self) {
                try mine.batchInsert("C_Task", objects: [["group": wrong.objectID]])
            }
        }
        let detached = TodoGroup(entity: try mine.model.entity("C_Group"), insertInto: nil)
        #expect(throws: ObjectError.self) { try mine.batchUpdate(all, set: ["group": detached]) }
        try mine.batchUpdate(all, set: ["group": group])
        let request = FetchRequest<TodoTask>(where: try FetchPredicate("group == %@", group))
        #expect(try mine.count(for: request) == 1)
    }
}
