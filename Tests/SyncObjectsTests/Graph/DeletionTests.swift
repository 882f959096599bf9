import Foundation
import GRDB
import SyncTesting
import Testing

@testable import SyncObjects

/// Objects that are deleted or changed by others. Two contexts act as two users; where another
/// process matters, another connection writes.
@Suite final class DeletionTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let mine: ManagedObjectContext
    private let theirs: ManagedObjectContext
    private let task: TodoTask
    private let copy: TodoTask

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        mine = try container.newBackgroundContext(author: "me")
        theirs = try container.newBackgroundContext(author: "them")
        task = try TodoTask(context: mine)
        task.title = "a"
        try mine.save()
        copy = try #require(try theirs.existingObject(with: task.objectID) as? TodoTask)
    }

    private func deleteTheirs() throws {
        try theirs.delete(copy)
        try theirs.save()
    }

    private var gone: Gone? {
        if case .gone(let gone) = task.state { return gone }
        return nil
    }

    private func stored() throws -> [String?] {
        try container.coordinator.read {
            try String?.fetchAll($0, sql: "SELECT title FROM C_Task ORDER BY id")
        }
    }

    @Test(arguments: [true, false])
    func editsOfADeletedObjectAreKept(merges: Bool) throws {
        let second = try TodoTask(context: mine)
        task.title = "edited"
        mine.automaticallyMergesChangesFromParent = merges
        try deleteTheirs()
        let error = #expect(throws: ObjectError.self) { try mine.save() }
        #expect(error?.code == .deletedElsewhere)
        #expect(gone != nil)
        if merges { #expect(gone?.author == "them") }
        #expect(task.title == "edited")
        #expect(task.lastKnown?["title"] as? String == "a")
        #expect(task.changedValues["title"] as? String == "edited")
        #expect(try stored().isEmpty)
        try mine.discardEdits(of: task)
        try mine.save()
        #expect(second.state == .clean)
        #expect(task.title == "a")
    }

    @Test(arguments: [MergePolicy.keepLocal, .overwrite])
    func localWinnerBringsTheObjectBack(policy: MergePolicy) throws {
        let id = task.objectID
        task.title = "edited"
        try deleteTheirs()
        mine.mergePolicy = policy
        try mine.save()
        #expect(try stored() == ["edited"])
        #expect(task.state == .clean)
        #expect(task.objectID.key == id.key)
        #expect(task.objectID.incarnation == 2)
        #expect(try container.coordinator.resolvedConflicts.map(\.object) == [id])
        theirs.performAndWait {}
        #expect(copy.state.isGone)
        if case .gone(let gone) = copy.state {
            #expect(gone.cause == .replaced(by: task.objectID))
        }
        #expect(throws: ObjectError.self) { try theirs.existingObject(with: id) }
        #expect(throws: Never.self) { try theirs.existingObject(with: task.objectID) }
    }

    @Test(arguments: [MergePolicy.keepStored, .discardLocal])
    func storedWinnerDropsTheEdits(policy: MergePolicy) throws {
        task.title = "edited"
        try deleteTheirs()
        mine.mergePolicy = policy
        try mine.save()
        #expect(try stored().isEmpty)
        #expect(task.state.isGone)
        #expect(try container.coordinator.resolvedConflicts.count == 1)
    }

    @Test func goneObjectsAnswerAndNothingIsInvented() throws {
        let reader = try container.newBackgroundContext()
        let fault = try #require(try reader.object(with: task.objectID) as? TodoTask)
        try deleteTheirs()
        #expect(fault.title == nil)
        #expect(fault.completed == nil)
        #expect(fault.lastKnown == nil)
        #expect(fault.state.isGone)
        mine.performAndWait {}
        #expect(task.title == "a")
        #expect(task.completed == false)
        #expect(task.managedObjectContext == nil)
        #expect(task.group == nil)
        task.title = "late"
        guard case .keptOnGone = task.lastWrite else {
            Issue.record("not kept")
            return
        }
        #expect(task.changedValues["title"] as? String == "late")
        #expect(!mine.hasChanges)
    }

    @Test func propertiesMergeByTheWinner() throws {
        let cases: [(MergePolicy, String, Int)] = [
            (.keepLocal, "mine", 7), (.keepStored, "theirs", 7), (.discardLocal, "theirs", 7),
            (.overwrite, "mine", 0),
        ]
        for (policy, title, priority) in cases {
            let container = try PersistentContainer.inMemory(try TodoModel.make())
            let mine = try container.newBackgroundContext()
            let theirs = try container.newBackgroundContext()
            mine.automaticallyMergesChangesFromParent = false
            let task = try TodoTask(context: mine)
            try mine.save()
            let copy = try #require(try theirs.existingObject(with: task.objectID) as? TodoTask)
            task.title = "mine"
            task.completed = true
            copy.title = "theirs"
            copy.priority = 7
            try theirs.save()
            let error = #expect(throws: ObjectError.self) { try mine.save() }
            #expect(error?.code == .mergeConflict)
            #expect(error?.reason.contains("title, priority") == true)
            mine.mergePolicy = policy
            try mine.save()
            #expect(task.title == title, "\(policy)")
            #expect(task.priority == priority, "\(policy)")
            #expect(task.completed == (policy != .discardLocal), "\(policy)")
            theirs.performAndWait {}
            #expect(copy.title == title)
            #expect(try container.coordinator.resolvedConflicts.count == 1)
        }
    }

    @Test func deletingWhatSomebodyChangedIsAConflict() throws {
        mine.automaticallyMergesChangesFromParent = false
        copy.title = "theirs"
        try theirs.save()
        try mine.delete(task)
        let error = #expect(throws: ObjectError.self) { try mine.save() }
        #expect(error?.code == .deleteOfChangedObject)
        #expect(try stored() == ["theirs"])
        mine.mergePolicy = .keepStored
        try mine.save()
        #expect(task.state == .clean)
        #expect(task.title == "theirs")
        try mine.delete(task)
        mine.mergePolicy = .keepLocal
        try mine.save()
        #expect(try stored().isEmpty)
    }

    @Test func bothMayDelete() throws {
        mine.automaticallyMergesChangesFromParent = false
        try mine.delete(task)
        try deleteTheirs()
        try mine.save()
        #expect(task.state.isGone)
        #expect(try container.coordinator.resolvedConflicts.isEmpty)
    }

    @Test func anotherConnectionIsNoticed() throws {
        try container.coordinator.checkForExternalChanges()
        let foreign = try DatabaseQueue(path: folder.file("store.sqlite").path)
        try foreign.write { try $0.execute(sql: "UPDATE C_Task SET title = 'foreign'") }
        #expect(try container.coordinator.checkForExternalChanges())
        mine.performAndWait {}
        #expect(task.title == "foreign")
        try foreign.write { try $0.execute(sql: "DELETE FROM C_Task") }
        #expect(try container.coordinator.checkForExternalChanges())
        mine.performAndWait {}
        #expect(gone?.cause == .unknown)
        #expect(task.title == "foreign")
        #expect(try !container.coordinator.checkForExternalChanges())
    }

    @Test func keyThatComesBackIsAnotherObject() throws {
        try container.coordinator.checkForExternalChanges()
        try deleteTheirs()
        let foreign = try DatabaseQueue(path: folder.file("store.sqlite").path)
        try foreign.write { try $0.execute(sql: "INSERT INTO C_Task(id, title) VALUES (1, 'new')") }
        try container.coordinator.checkForExternalChanges()
        let found = try mine.fetch(TodoTask.self)
        #expect(found.count == 1)
        #expect(found[0] !== task)
        #expect(found[0].objectID.incarnation == 2)
        #expect(task.title == "a")
        #expect(throws: ObjectError.self) { try mine.existingObject(with: task.objectID) }
    }

    @Test func uniqueValuesAreCheckedAtSave() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "U",
                attributes: [
                    AttributeDescription("code"), AttributeDescription("n", .integer64, default: 0),
                ], constraints: [["code"]])
        ])
        let container = try PersistentContainer.inMemory(model)
        let context = try container.newBackgroundContext()
        let first = try context.insert("U")
        first["code"] = "x"
        try context.save()
        let second = try context.insert("U")
        second["code"] = "x"
        second["n"] = 5
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .constraintConflict)
        #expect(error?.reason.contains("“U/1”") == true)
        context.mergePolicy = .keepLocal
        try context.save()
        #expect(first["n"] as? Int64 == 5)
        #expect(second.state == .gone(Gone(.merged(into: first.objectID))))
        // A value freed by a deletion may be taken in the same save.
        try context.delete(first)
        let third = try context.insert("U")
        third["code"] = "x"
        let fourth = try context.insert("U")
        fourth["code"] = "y"
        try context.save()
        #expect(try context.count(for: FetchRequest<ManagedObject>("U")) == 2)
        try context.delete(third)
        fourth["code"] = "x"
        try context.save()
        #expect(fourth["code"] as? String == "x")
    }

    @Test func aMemberDeletedElsewhereLeavesItsListWhole() throws {
        let group = try TodoGroup(context: mine)
        let tasks = try (0..<5).map { index in
            let task = try TodoTask(context: mine)
            task.title = "\(index)"
            return task
        }
        group.tasks = tasks
        try mine.save()
        let list = group.tasks
        let other = try #require(
            try theirs.existingObject(with: tasks[2].objectID) as? TodoTask)
        try theirs.delete(other)
        try theirs.save()
        var seen: [String?] = []
        for task in list {
            seen.append(task.title)
            mine.performAndWait {}
        }
        #expect(seen == ["0", "1", "2", "3", "4"])
        #expect(group.tasks.map(\.title) == ["0", "1", "3", "4"])
    }

    @Test func undoOfADeletedObjectSaysSo() throws {
        mine.isUndoEnabled = true
        task.title = "b"
        mine.processPendingChanges()
        try mine.save()
        theirs.performAndWait {}
        try deleteTheirs()
        #expect(throws: ObjectError(.cannotUndo, "")) { try mine.undo() }
    }

    @Test func resetAndDeadContextsLeaveReadableObjects() throws {
        mine.reset()
        #expect(gone?.cause == .contextReset)
        #expect(task.title == "a")
        var context: ManagedObjectContext? = try container.newBackgroundContext()
        let orphan = try #require(try context?.fetch(TodoTask.self).first)
        context = nil
        #expect(orphan.title == "a")
        #expect(orphan.state.isGone)
        #expect(context == nil)
    }

    @Test func manyThreadsReadAndDeleteWithoutATrap() async throws {
        var ids: [ManagedObjectID] = []
        try mine.performAndWait {
            for index in 0..<200 {
                let task = try TodoTask(context: mine)
                task.title = "t\(index)"
                ids.append(task.objectID)
            }
            try mine.save()
        }
        let shared = try theirs.fetch(TodoTask.self)
        let theirs = theirs
        let known = Set(shared.map(\.title))
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                let part = ids.enumerated().filter { $0.offset % 4 == worker }.map(\.element)
                let container = container
                group.addTask {
                    guard let context = try? container.newBackgroundContext() else { return }
                    for id in part {
                        if let object = try? context.existingObject(with: id) {
                            try? context.delete(object)
                        }
                        try? context.save()
                    }
                }
                group.addTask {
                    for _ in 0..<20 {
                        for task in shared {
                            let title = task.title
                            if !known.contains(title) {
                                Issue.record("invented: \(title ?? "nil")")
                            }
                            _ = task.state
                        }
                        theirs.performAndWait {}
                    }
                }
            }
        }
        theirs.performAndWait {}
        #expect(shared.filter { $0.state.isGone }.count == 200)
        #expect(try theirs.count(for: FetchRequest<TodoTask>()) == 1)
    }
}
