import Foundation
import GRDB
import Testing

@testable import SyncObjects

@Suite final class ContextTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private var others: [ManagedObjectContext] = []

    init() throws {
        container = try PersistentContainer.inMemory(try TodoModel.make())
        context = try container.newBackgroundContext()
    }

    /// A context that lives as long as the test: objects do not hold theirs.
    private func other() throws -> ManagedObjectContext {
        others.append(try container.newBackgroundContext())
        return others[others.count - 1]
    }

    private func task(_ title: String, in context: ManagedObjectContext) throws -> TodoTask {
        let task = try TodoTask(context: context)
        task.title = title
        return task
    }

    @Test func valuesSurviveASave() throws {
        let date = Date()
        let task = try task("a", in: context)
        task.priority = 3
        task.createDate = date
        #expect(task.state == .inserted)
        let id = task.objectID
        try context.save()
        #expect(task.objectID == id)
        #expect(task.state == .clean)
        let copy = try #require(try other().existingObject(with: id) as? TodoTask)
        #expect(copy !== task)
        #expect((copy.title, copy.priority, copy.createDate) == ("a", 3, date))
        #expect(copy.completed == false)
    }

    @Test func nilStaysNilAndZeroStaysZero() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "N", attributes: [AttributeDescription("n", .integer16, optional: true)])
        ])
        let container = try PersistentContainer.inMemory(model)
        let context = try container.viewContext
        let none = try context.insert("N")
        let zero = try context.insert("N")
        try zero.setValue(0, forKey: "n")
        try context.save()
        let copy = try container.newBackgroundContext()
        #expect(try copy.existingObject(with: none.objectID)["n"] == nil)
        #expect(try copy.existingObject(with: zero.objectID)["n"] as? Int16 == 0)
    }

    @Test func oneObjectForEachIdentity() throws {
        let id = try task("a", in: context).objectID
        try context.save()
        let first = try context.fetch(TodoTask.self)
        #expect(try context.existingObject(with: id) === first[0])
        #expect(try other().existingObject(with: id) !== first[0])
    }

    @Test func unchangedObjectsAreHeldByNobody() throws {
        var task: TodoTask? = try task("a", in: context)
        try context.save()
        #expect(context.registeredObjects.count == 1)
        task = nil
        #expect(context.registeredObjects.isEmpty)
        task = try context.fetch(TodoTask.self)[0]
        task?.title = "b"
        task = nil
        #expect(context.registeredObjects.count == 1)
        try context.save()
        #expect(context.registeredObjects.isEmpty)
        context.retainsRegisteredObjects = true
        _ = try context.fetch(TodoTask.self)
        #expect(context.registeredObjects.count == 1)
    }

    @Test func bothEndsOfARelationshipAgree() throws {
        let one = try TodoGroup(context: context)
        let two = try TodoGroup(context: context)
        let task = try task("a", in: context)
        task.group = one
        #expect(one.tasks == [task])
        two.tasks = [task]
        #expect(task.group === two)
        #expect(one.tasks.isEmpty)
        try context.save()
        let copy = try #require(try other().existingObject(with: two.objectID) as? TodoGroup)
        #expect(copy.tasks.map(\.objectID) == [task.objectID])
        #expect(copy.tasks[0].group === copy)
        let memo = try TodoMemo(context: context)
        task.memo = memo
        #expect(memo.task === task)
        let next = try self.task("b", in: context)
        next.memo = memo
        #expect(task.memo == nil)
        #expect(memo.task === next)
    }

    @Test func orderedRelationshipsKeepTheirOrder() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make(ordered: true))
        let context = try container.newBackgroundContext()
        let group = try TodoGroup(context: context)
        let tasks = try ["a", "b", "c"].map { try task($0, in: context) }
        group.tasks = [tasks[2], tasks[0], tasks[1]]
        try context.save()
        let reader = try container.newBackgroundContext()
        let copy = try #require(try reader.existingObject(with: group.objectID) as? TodoGroup)
        #expect(copy.tasks.map(\.title) == ["c", "a", "b"])
        group.tasks = [tasks[0], tasks[1], tasks[2]]
        try context.save()
        reader.performAndWait {}
        #expect(copy.tasks.map(\.title) == ["a", "b", "c"])
        // Another one moves and a member is deleted meanwhile: no hole, no double place.
        copy.tasks = [copy.tasks[2], copy.tasks[0], copy.tasks[1]]
        try context.delete(tasks[0])
        try context.save()
        reader.performAndWait {}
        #expect(copy.tasks.map(\.title) == ["c", "b"])
    }

    @Test func manyToManyWorksFromBothEnds() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "A", relationships: [.toMany("bs", to: "B", inverse: "as", ordered: true)]),
            EntityDescription("B", relationships: [.toMany("as", to: "A", inverse: "bs")]),
        ])
        let container = try PersistentContainer.inMemory(model)
        let context = try container.viewContext
        let a = try context.insert("A")
        let bs = try (0..<3).map { _ in try context.insert("B") }
        try a.setValue([bs[2], bs[0], bs[1]], forKey: "bs")
        #expect(bs[0]["as"] as? [ManagedObject] == [a])
        try context.save()
        let reader = try container.newBackgroundContext()
        let copy = try reader.existingObject(with: a.objectID)
        let members = try #require(copy["bs"] as? [ManagedObject])
        #expect(members.map(\.objectID) == [bs[2], bs[0], bs[1]].map(\.objectID))
        try a.remove(bs[0], from: "bs")
        try context.save()
        reader.performAndWait {}
        #expect((copy["bs"] as? [ManagedObject])?.count == 2)
        try context.delete(bs[1])
        try context.save()
        reader.performAndWait {}
        #expect((copy["bs"] as? [ManagedObject])?.map(\.objectID) == [bs[2].objectID])
    }

    @Test func savesReachOtherContextsAtTheirNextUnitOfWork() throws {
        let task = try task("a", in: context)
        try context.save()
        let reader = try other()
        let copy = try #require(try reader.existingObject(with: task.objectID) as? TodoTask)
        task.title = "b"
        task.priority = 5
        try context.save()
        copy.completed = true
        reader.performAndWait {}
        #expect(copy.title == "b")
        #expect(copy.completed == true)
        #expect(copy.state == .updated)
        #expect(Set(copy.changedValues.keys) == ["completed"])
        try reader.save()
        #expect(try context.fetch(TodoTask.self)[0].completed == true)
    }

    @Test func settingBackIsNoChange() throws {
        let task = try task("a", in: context)
        try context.save()
        task.title = "b"
        #expect(task.committedValues?["title"] as? String == "a")
        task.title = "a"
        #expect(task.state == .clean)
        #expect(!context.hasChanges)
    }

    @Test func missingValuesAreReportedAtSave() throws {
        let group = try TodoGroup(context: context)
        #expect(group.title == "New Group")
        group.title = nil
        let second = try TodoGroup(context: context)
        second.title = nil
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .multipleErrors)
        #expect(error?.details.map(\.code) == [.missingMandatory, .missingMandatory])
        #expect(error?.details.first?.property == "title")
        #expect(try context.count(for: FetchRequest<TodoGroup>()) == 2)
        #expect(try other().count(for: FetchRequest<TodoGroup>()) == 0)
        group.title = "x"
        second.title = "y"
        try context.save()
        #expect(try other().count(for: FetchRequest<TodoGroup>()) == 2)
    }

    @Test func rulesRefuseValues() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "R",
                attributes: [
                    AttributeDescription("n", .integer16, default: 0)
                        .validated(by: .minimum(1), .maximum(5)),
                    AttributeDescription("s", default: "abcdef")
                        .validated(by: .maximumLength(3), .pattern("[0-9]+")),
                    AttributeDescription("p", default: "x")
                        .validated(by: .predicate("SELF BEGINSWITH 'y'")),
                ])
        ])
        let context = try PersistentContainer.inMemory(model).viewContext
        let object = try context.insert("R")
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(
            Set(error?.details.map(\.code) ?? [])
                == [.numberTooSmall, .stringTooLong, .patternMismatch, .validation])
        for (key, value) in [("n", 3), ("s", "12"), ("p", "yes")] as [(String, any Sendable)] {
            try object.setValue(value, forKey: key)
        }
        try context.save()
    }

    @Test func fetchSeesPendingChanges() throws {
        for (title, priority) in [("a", 1), ("b", 2), ("c", 3)] {
            try task(title, in: context).priority = priority
        }
        try context.save()
        let tasks = try context.fetch(
            FetchRequest<TodoTask>(sortedBy: [SortKey(\TodoTask.priority, ascending: false)]))
        #expect(tasks.map(\.title) == ["c", "b", "a"])
        tasks[0].priority = 0
        try context.delete(tasks[1])
        try task("d", in: context).priority = 2
        let positive = FetchRequest<TodoTask>(
            where: try FetchPredicate("priority > 0"), sortedBy: [SortKey("title")])
        #expect(try context.fetch(positive).map(\.title) == ["a", "d"])
        #expect(try context.count(for: positive) == 2)
        var stored = positive
        stored.includesPendingChanges = false
        #expect(try context.count(for: stored) == 3)
        var window = positive
        window.offset = 1
        window.limit = 5
        #expect(try context.fetch(window).map(\.title) == ["d"])
    }

    @Test func predicatesLookAtPendingChangesOfRelatedObjects() throws {
        let group = try TodoGroup(context: context)
        group.title = "home"
        try task("a", in: context).group = group
        try context.save()
        group.title = "work"
        let request = FetchRequest<TodoTask>(
            where: try FetchPredicate(#Predicate<TodoTask> { $0.group?.title == "work" }))
        #expect(try context.count(for: request) == 1)
        try context.save()
        #expect(try other().count(for: request) == 1)
    }

    @Test func foundationPredicatesAreTranslated() throws {
        let group = try TodoGroup(context: context)
        group.title = "home"
        for index in 0..<6 {
            let task = try task("t\(index)", in: context)
            task.priority = index
            task.completed = index % 2 == 0
            if index < 3 { task.group = group }
        }
        try context.save()
        let wanted = ["t1", "t4"]
        let cases: [(Predicate<TodoTask>, Int)] = [
            (#Predicate { $0.priority! > 3 && $0.completed == true }, 1),
            (#Predicate { ($0.priority ?? 0) <= 1 || $0.title == nil }, 2),
            (#Predicate { wanted.contains($0.title!) }, 2),
            (#Predicate { $0.title!.starts(with: "t") && !($0.title!.contains("2")) }, 5),
            (#Predicate { $0.group == nil }, 3), (#Predicate { $0.group?.title == "home" }, 3),
            (#Predicate { (1...3).contains($0.priority!) }, 3),
        ]
        for (predicate, count) in cases {
            let request = FetchRequest<TodoTask>(where: try FetchPredicate(predicate))
            #expect(try context.count(for: request) == count, "\(predicate)")
        }
        let groups = FetchRequest<TodoGroup>(
            where: try FetchPredicate(
                #Predicate<TodoGroup> {
                    $0.tasks.contains { $0.priority == 2 }
                        && $0.tasks.filter { $0.completed == true }.count == 2
                        && $0.tasks.allSatisfy { $0.priority! < 3 }
                }))
        #expect(try context.count(for: groups) == 1)
        let error = #expect(throws: ObjectError.self) {
            try FetchPredicate(#Predicate<TodoTask> { $0.priority! + 1 > 3 })
        }
        #expect(error?.code == .unsupportedPredicate)
        #expect(error?.reason.contains("Arithmetic") == true)
    }

    @Test func batchedFetchReadsInBatches() throws {
        for index in 0..<100 { try task("t\(index)", in: context).priority = index }
        try context.save()
        let reader = try other()
        var request = FetchRequest<TodoTask>(sortedBy: [SortKey("priority")])
        request.batchSize = 20
        let tasks = try reader.fetch(request)
        #expect(tasks.count == 100)
        #expect(tasks.filter(\.isFault).count == 100)
        #expect(tasks[25].title == "t25")
        #expect(tasks.filter(\.isFault).count == 80)
        // One of them goes before it was ever read: its place stays, and says so.
        try context.fetch(TodoTask.self).filter { $0.priority == 50 }.forEach(context.delete)
        try context.save()
        #expect(tasks.map(\.title).count == 100)
        #expect(tasks[50].state.isGone)
        #expect(tasks[50].title == nil)
        #expect(tasks[51].title == "t51")
    }

    @Test func cascadeTakesTwoLevelsInOneTransaction() throws {
        let group = try TodoGroup(context: context)
        let task = try task("a", in: context)
        task.group = group
        let memo = try TodoMemo(context: context)
        memo.task = task
        try context.save()
        let reader = try other()
        let copies = try [group, task, memo].map { try reader.existingObject(with: $0.objectID) }
        try context.delete(group)
        #expect(memo.state == .deletePending)
        try context.save()
        reader.performAndWait {}
        let causes = copies.map { object -> GoneCause? in
            if case .gone(let gone) = object.state { return gone.cause }
            return nil
        }
        #expect(
            causes == [.deleted, .cascade(of: group.objectID), .cascade(of: task.objectID)])
    }

    @Test func rowsThatNobodyKnewFollowTheRules() throws {
        let group = try TodoGroup(context: context)
        try context.save()
        #expect(group.tasks.isEmpty)
        let second = try other()
        second.automaticallyMergesChangesFromParent = false
        context.automaticallyMergesChangesFromParent = false
        let task = try task("late", in: second)
        task.group = try second.existingObject(with: group.objectID) as? TodoGroup
        try second.save()
        try context.delete(group)
        try context.save()
        try second.mergeChanges()
        #expect(task.state.isGone)
        #expect(try other().count(for: FetchRequest<TodoTask>()) == 0)
    }

    @Test func denyStandsUntilTheChildrenGo() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make(groupRule: .deny))
        let context = try container.newBackgroundContext()
        let group = try TodoGroup(context: context)
        let task = try task("a", in: context)
        task.group = group
        try context.save()
        try context.delete(group)
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .deleteDenied)
        #expect(error?.code.number == 1600)
        try context.delete(task)
        try context.save()
        #expect(try container.newBackgroundContext().count(for: FetchRequest<TodoGroup>()) == 0)
    }

    @Test func nullifyLeavesTheChildren() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make(groupRule: .nullify))
        let context = try container.newBackgroundContext()
        let group = try TodoGroup(context: context)
        let task = try task("a", in: context)
        task.group = group
        try context.save()
        try context.delete(group)
        #expect(task.group == nil)
        try context.save()
        #expect(task.state == .clean)
    }

    @Test func keysAreNeverGivenTwice() throws {
        let first = try task("a", in: context)
        try context.save()
        try context.delete(first)
        try context.save()
        let second = try task("b", in: context)
        #expect(second.objectID != first.objectID)
        let key = second.objectID.key
        try context.save()
        try container.coordinator.write { db in
            try db.execute(sql: "INSERT INTO C_Task(title) VALUES ('foreign')")
            #expect(ManagedObjectKey.integer(db.lastInsertedRowID) != key)
        }
    }

    @Test func childSavesIntoItsParent() throws {
        let child = context.makeChild()
        let task = try task("a", in: child)
        #expect(try context.count(for: FetchRequest<TodoTask>()) == 0)
        try child.save()
        #expect(context.hasChanges)
        #expect(try other().count(for: FetchRequest<TodoTask>()) == 0)
        #expect(try context.fetch(TodoTask.self).map(\.objectID) == [task.objectID])
        try context.save()
        #expect(try other().count(for: FetchRequest<TodoTask>()) == 1)
        let parentTask = try context.fetch(TodoTask.self)[0]
        parentTask.title = "unsaved"
        child.performAndWait {}
        let second = context.makeChild()
        #expect(try second.fetch(TodoTask.self).first?.title == "unsaved")
        let grandchild = child.makeChild()
        let deep = try #require(
            try grandchild.existingObject(with: task.objectID) as? TodoTask)
        try grandchild.delete(deep)
        try grandchild.save()
        #expect(child.deletedObjects.count == 1)
        #expect(context.deletedObjects.isEmpty)
    }

    @Test func undoAndRedo() throws {
        context.isUndoEnabled = true
        let group = try TodoGroup(context: context)
        let task = try task("a", in: context)
        context.processPendingChanges()
        try context.save()
        task.title = "b"
        task.title = "c"
        context.processPendingChanges()
        task.group = group
        context.processPendingChanges()
        try context.undo()
        #expect(task.group == nil)
        #expect(group.tasks.isEmpty)
        try context.undo()
        #expect(task.title == "a")
        try context.redo()
        #expect(task.title == "c")
        try context.save()
        try context.undo()
        #expect(task.title == "a")
        try context.save()
        try context.delete(task)
        try context.save()
        #expect(task.state.isGone)
        try context.undo()
        #expect(task.state == .inserted)
        #expect(task.title == "a")
        try context.save()
        #expect(try other().fetch(TodoTask.self).map(\.title) == ["a"])
    }

    @Test func rollbackBringsEverythingBack() throws {
        let task = try task("a", in: context)
        try context.save()
        let new = try self.task("new", in: context)
        task.title = "b"
        context.rollback()
        #expect(task.title == "a")
        #expect(new.state == .gone(Gone(.neverSaved)))
        try context.delete(task)
        context.rollback()
        #expect(task.state == .clean)
        #expect(!context.hasChanges)
        #expect(try context.fetch(TodoTask.self) == [task])
    }

    @Test func detachedObjectsHoldValues() throws {
        let object = try TodoGroup(detached: TodoModel.entities()[0])
        object.title = "x"
        #expect(object.title == "x")
        #expect(object.managedObjectContext == nil)
        #expect(object.state == .detached)
    }

    @Test func wrongClassAndWrongNamesAreErrors() throws {
        #expect(throws: ObjectError(.classMismatch, "")) {
            try context.fetch(FetchRequest<TodoGroup>("C_Task"))
        }
        #expect(throws: ObjectError(.unknownEntity, "")) { try context.insert("Nothing") }
        let task = try task("a", in: context)
        #expect(throws: ObjectError(.unknownProperty, "")) { try task.setValue(1, forKey: "x") }
        #expect(throws: ObjectError(.typeMismatch, "")) { try task.setValue(1, forKey: "title") }
        #expect(task.title == "a")
        task["priority"] = 70_000
        guard case .rejected(let error) = task.lastWrite else {
            Issue.record("not rejected")
            return
        }
        #expect(error.property == "priority")
    }

    @Test func performAndEventsArriveInOrder() async throws {
        let events = context.events
        let context = context
        let id = try await context.perform {
            let task = try TodoTask(context: context)
            task.title = "a"
            try context.save()
            return task.objectID
        }
        var saved: Set<ManagedObjectID> = []
        for await event in events {
            if case .didSave(let inserted, _, _) = event {
                saved = inserted
                break
            }
        }
        #expect(saved == [id])
        await #expect(throws: ObjectError(.unknownEntity, "")) {
            try await context.perform { _ = try context.insert("Nothing") }
        }
    }
}
