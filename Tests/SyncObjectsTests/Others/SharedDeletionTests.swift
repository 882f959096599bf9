import Foundation
import SyncCore
import Testing

@testable import SyncObjects

/// The deletion cases with a second process, each with syncd up, down, and restarted in the middle.
@Suite(.timeLimit(.minutes(4)), .serialized) struct SharedDeletionTests {
    @Test(
        "E-01, E-02, E-33, E-34: edits of what another process deleted",
        arguments: DaemonFate.allCases)
    func editsSurvive(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        let other = try store.add("other")
        try store.context.save()
        try await store.follow()
        task.title = "edited"
        other.title = "also edited"
        try await store.write("DELETE FROM C_Task WHERE title = 'a'")
        // With or without a notice, the save knows.
        let error = #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(error?.code == .deletedElsewhere)
        try await store.expectEventually { task.gone?.transaction != nil }
        #expect(task.title == "edited")
        #expect(task.lastKnown?["title"] as? String == "a")
        #expect(task.changedValues["title"] as? String == "edited")
        #expect(task.gone?.tombstone?["title"] == .text("a"))
        store.context.mergePolicy = .keepLocal
        try store.context.save()
        #expect(task.state == .clean)
        #expect(task.objectID.incarnation == 2)
        #expect(other.state == .clean)
        // The echo of our own save does not take it away again.
        try await store.write("UPDATE C_Task SET priority = 5 WHERE title = 'edited'")
        try await store.expectEventually { task.priority == 5 }
        #expect(task.state == .clean)
    }

    @Test("E-03: dropping the edits", arguments: DaemonFate.allCases)
    func storedWins(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        try store.context.save()
        try await store.follow()
        task.title = "edited"
        try await store.write("DELETE FROM C_Task")
        store.context.mergePolicy = .keepStored
        try store.context.save()
        #expect(task.state.isGone)
        #expect(try store.context.count(for: FetchRequest<TodoTask>()) == 0)
        #expect(try store.container.coordinator.resolvedConflicts.count == 1)
    }

    @Test("E-06, E-07: a fault and a read object", arguments: DaemonFate.allCases)
    func faultsAndObjects(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let ids = [try store.add("read", priority: 4), try store.add("fault")].map(\.objectID)
        try store.context.save()
        let context = try store.container.newBackgroundContext()
        let known = try #require(try context.existingObject(with: ids[0]) as? TodoTask)
        let fault = try #require(try context.object(with: ids[1]) as? TodoTask)
        try await store.follow()
        try await store.write(
            "INSERT INTO syncd_txn(author) VALUES ('cron'); DELETE FROM C_Task;"
                + "INSERT INTO syncd_txn(author) VALUES (NULL)")
        try await store.expectEventually {
            known.gone?.transaction != nil && fault.gone?.transaction != nil
        }
        #expect(known.title == "read")
        #expect(known.priority == 4)
        #expect(known.managedObjectContext == nil)
        #expect(fault.title == nil)
        #expect(fault.priority == nil)
        #expect(fault.lastKnown == nil)
        #expect(fault.gone?.tombstone?["title"] == .text("fault"))
        try store.context.save()
        #expect(known.lastKnown?["title"] as? String == "read")
    }

    @Test("E-08: a value is whole or none", arguments: DaemonFate.allCases)
    func conversionIsWhole(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let tasks = try (0..<20).map { try store.add("t\($0)", priority: $0) }
        try store.context.save()
        try await store.follow()
        let reader = Task.detached {
            var seen = 0
            while !Task.isCancelled {
                for (number, task) in tasks.enumerated() {
                    if let value = task.convertToValueType() {
                        #expect(value.title == "t\(number)")
                        seen += 1
                    }
                }
                await Task.yield()
            }
            return seen
        }
        try await store.write("DELETE FROM C_Task")
        try await store.expectEventually { tasks.allSatisfy(\.state.isGone) }
        reader.cancel()
        #expect(await reader.value > 0)
        #expect(tasks.allSatisfy { $0.convertToValueType() == nil })
    }

    @Test("E-10, E-11, E-13: a key that comes back", arguments: DaemonFate.allCases)
    func keysComeBack(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("old")
        try store.context.save()
        let key = task.objectID.key
        try await store.follow()
        let controller = try FetchedResultsController(
            FetchRequest<TodoTask>(sortedBy: [SortKey("title")]), context: store.context)
        try controller.performFetch()
        try await store.write(
            "BEGIN; DELETE FROM C_Task; INSERT INTO C_Task(id, title, priority, completed, myDay) "
                + "VALUES (\(key), 'new', 0, 0, 0); COMMIT")
        try await store.expectEventually { task.state.isGone }
        #expect(task.title == "old")
        try await store.expectEventually {
            controller.snapshot?.objects.map(\.title) == ["new"]
        }
        let new = try #require(controller.snapshot?.objects.first)
        #expect(new !== task)
        #expect(new.objectID.incarnation == 2)
        #expect(task.gone?.cause == .replaced(by: new.objectID))
        // And again, in two transactions.
        try await store.write("DELETE FROM C_Task")
        try await store.write(
            "INSERT INTO C_Task(id, title, priority, completed, myDay) "
                + "VALUES (\(key), 'newer', 0, 0, 0)")
        try await store.expectEventually {
            controller.snapshot?.objects.map(\.title) == ["newer"]
        }
        #expect(new.state.isGone)
        #expect(controller.snapshot?.objects.first?.objectID.incarnation == 3)
    }

    @Test("E-09: the same unique value is another object", arguments: DaemonFate.allCases)
    func uniqueValuesComeBack(fate: DaemonFate) async throws {
        let store = try await SharedStore(
            fate,
            try ManagedObjectModel([
                EntityDescription(
                    "Shop",
                    attributes: [AttributeDescription("code"), .init("city", optional: true)],
                    constraints: [["code"]])
            ]))
        let shop = try store.context.insert("Shop")
        shop["code"] = "x"
        try store.context.save()
        try await store.follow()
        let controller = try FetchedResultsController(
            FetchRequest<ManagedObject>("Shop", sortedBy: [SortKey("code")]),
            context: store.context)
        try controller.performFetch()
        var updates = controller.updates.makeAsyncIterator()
        _ = await updates.next()
        try await store.write(
            "BEGIN; DELETE FROM Shop; INSERT INTO Shop(code, city) VALUES ('x', 'Ulm'); COMMIT")
        try await store.expectEventually { shop.state.isGone }
        try await store.expectEventually {
            controller.snapshot?.objects.first?["city"] as? String == "Ulm"
        }
        let new = try #require(controller.snapshot?.objects.first)
        #expect(new.objectID != shop.objectID)
        #expect(new.objectID.key != shop.objectID.key)
        let update = try #require(await updates.next())
        #expect(update.reconfigured.isEmpty)
    }

    @Test("E-12: made and deleted in one transaction", arguments: DaemonFate.allCases)
    func nothingForNoNetChange(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        try store.context.save()
        try await store.follow()
        store.context.performAndWait {}
        let events = store.context.events
        try await store.write(
            "BEGIN; INSERT INTO C_Task(id, title, priority, completed, myDay) "
                + "VALUES (77, 'brief', 0, 0, 0); DELETE FROM C_Task; COMMIT")
        try await store.write("INSERT INTO C_Group(id, title) VALUES (5, 'after')")
        for await event in events {
            guard case .didChange(let inserted, _, let deleted) = event else { continue }
            #expect(deleted.allSatisfy { $0.entity != "C_Task" })
            #expect(inserted.allSatisfy { $0.entity == "C_Group" })
            if !inserted.isEmpty { break }
        }
    }

    @Test("E-14, E-15: two levels of cascade, with edits", arguments: DaemonFate.allCases)
    func cascadeTellsItsCause(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let group = try TodoGroup(context: store.context)
        let rescue = try TodoGroup(context: store.context)
        group.title = "planned"
        rescue.title = "rescue"
        let task = try store.add("a", group)
        let memo = try TodoMemo(context: store.context)
        memo.content = "m"
        task.memo = memo
        try store.context.save()
        try await store.follow()
        task.title = "in the editor"
        try await store.write("DELETE FROM C_Group WHERE title = 'planned'")
        try await store.expectEventually {
            [group, task, memo].allSatisfy { $0.gone?.transaction != nil }
        }
        #expect(group.gone?.cause == .deleted)
        #expect(task.gone?.cause == .cascade(of: group.objectID))
        #expect(task.title == "in the editor")
        // Another parent, and a policy that allows it: the task is back.
        store.context.mergePolicy = .keepLocal
        task["group"] = nil
        try store.context.save()
        #expect(task.state == .clean)
        task.group = rescue
        try store.context.save()
        #expect(rescue.tasks == [task])
    }

    @Test("E-16: a child for a parent that is gone", arguments: DaemonFate.allCases)
    func childOfAGoneParent(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let group = try TodoGroup(context: store.context)
        try store.context.save()
        try await store.follow()
        let task = try store.add("late", group)
        try await store.write("DELETE FROM C_Group")
        try await store.expectEventually { group.state.isGone }
        // Never a dangling reference: refused, and kept as it is.
        #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(task.state == .inserted)
        task.group = nil
        try store.context.save()
        #expect(task.state == .clean)
    }

    @Test("E-17: the far end is deleted while this end is edited", arguments: DaemonFate.allCases)
    func nullifyKeepsOtherEdits(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate, try TodoModel.make(groupRule: .nullify))
        let group = try TodoGroup(context: store.context)
        let task = try store.add("a", group)
        try store.context.save()
        try await store.follow()
        task.title = "edited"
        try await store.write("DELETE FROM C_Group")
        try await store.expectEventually { group.state.isGone && task.group == nil }
        #expect(task.title == "edited")
        #expect(task.changedValues.keys.sorted() == ["title"])
        try store.context.save()
        #expect(task.state == .clean)
    }

    @Test("E-23, E-24: both delete; a deletion of what was changed", arguments: DaemonFate.allCases)
    func twoDeletions(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let first = try store.add("first")
        let second = try store.add("second")
        try store.context.save()
        try await store.follow()
        store.context.automaticallyMergesChangesFromParent = false
        try store.context.delete(first)
        try await store.write("DELETE FROM C_Task WHERE title = 'first'")
        try store.context.save()
        try store.context.delete(second)
        try await store.write("UPDATE C_Task SET title = 'theirs' WHERE title = 'second'")
        let error = #expect(throws: ObjectError.self) { try store.context.save() }
        #expect(error?.code == .deleteOfChangedObject)
        store.context.mergePolicy = .keepLocal
        try store.context.save()
        #expect(try store.context.count(for: FetchRequest<TodoTask>()) == 0)
        let deletions = try Store.open(store.path).history().flatMap(\.changes)
            .filter { $0.kind == .delete }
        #expect(deletions.count == 2)
    }

    @Test("E-30, E-31: crashes around a commit", arguments: DaemonFate.allCases)
    func crashesOfWriters(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let kept = try store.add("kept")
        let lost = try store.add("lost")
        try store.context.save()
        try await store.follow()
        try await SharedStore.python(
            store.path,
            "c.execute('BEGIN'); c.execute(\"DELETE FROM C_Task WHERE title = 'kept'\");"
                + "os.kill(os.getpid(), signal.SIGKILL)")
        if fate == .restarted { await store.killDaemon() }
        try await SharedStore.python(
            store.path,
            "c.execute(\"DELETE FROM C_Task WHERE title = 'lost'\");"
                + "os.kill(os.getpid(), signal.SIGKILL)")
        if fate == .restarted { try await store.startDaemon() }
        try await store.expectEventually { lost.state.isGone }
        #expect(kept.state == .clean)
        #expect(try store.context.fetch(TodoTask.self) == [kept])
    }

    @Test("E-32: what was deleted while the daemon was away", arguments: [true, false])
    func daemonIsAway(isFollowing: Bool) async throws {
        let store = try await SharedStore(.up)
        let task = try store.add("a")
        try store.context.save()
        if isFollowing { try await store.follow() }
        await store.killDaemon()
        try await SharedStore.run(
            store.path,
            "BEGIN; INSERT INTO syncd_txn(author) VALUES ('night'); DELETE FROM C_Task; COMMIT",
            usesPython: false)
        try await store.startDaemon()
        if !isFollowing { try await store.follow() }
        try await store.expectEventually { task.state.isGone }
        if isFollowing {
            try await store.expectEventually { task.gone?.author == "night" }
            try await store.waitForDaemon()
        }
    }

    @Test("E-37: REPLACE by a program that knows nothing of us", arguments: DaemonFate.allCases)
    func replaceIsSeen(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("old")
        try store.context.save()
        try await store.follow()
        try await store.write(
            "INSERT OR REPLACE INTO C_Task(id, title, priority, completed, myDay) "
                + "VALUES (\(task.objectID.key), 'replaced', 1, 0, 0)")
        try await store.expectEventually {
            task.state.isGone || task.title == "replaced"
        }
        #expect(try store.context.fetch(TodoTask.self).map(\.title) == ["replaced"])
    }

    @Test("E-43: deletion and insertion at one place", arguments: DaemonFate.allCases)
    func removeAndInsertAreTwoThings(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        for title in ["a", "b", "c"] { _ = try store.add(title) }
        try store.context.save()
        try await store.follow()
        let controller = try FetchedResultsController(
            FetchRequest<TodoTask>(sortedBy: [SortKey("title")]), context: store.context)
        try controller.performFetch()
        var updates = controller.updates.makeAsyncIterator()
        #expect(await updates.next()?.isInitial == true)
        try await store.write(
            "BEGIN; DELETE FROM C_Task WHERE title = 'b';"
                + "INSERT INTO C_Task(title, priority, completed, myDay) VALUES ('bb', 0, 0, 0);"
                + "COMMIT")
        let update = try #require(await updates.next())
        #expect(update.removed.map(\.place) == [1])
        #expect(update.inserted.map(\.place) == [1])
        #expect(update.reconfigured.isEmpty)
    }

    @Test("E-46, E-48: windows and counts", arguments: DaemonFate.allCases)
    func windowsAndCounts(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        for number in 0..<20 { _ = try store.add("t\(number + 10)") }
        try store.context.save()
        try await store.follow()
        var request = FetchRequest<TodoTask>(sortedBy: [SortKey("title")], limit: 5)
        request.offset = 5
        let controller = try FetchedResultsController(request, context: store.context)
        try controller.performFetch()
        let counts = try store.context.counts(of: FetchRequest<TodoTask>())
        try await store.write("DELETE FROM C_Task WHERE title IN ('t10', 't11')")
        try await store.expectEventually {
            controller.snapshot?.objects.map(\.title) == (17..<22).map { "t\($0)" }
        }
        for await count in counts where count == 18 { break }
    }

    @Test("E-53, E-54: an ordered list whose member is deleted", arguments: DaemonFate.allCases)
    func orderedListsClose(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate, try TodoModel.make(ordered: true))
        let group = try TodoGroup(context: store.context)
        let tasks = try ["a", "b", "c", "d"].map { try store.add($0) }
        group.tasks = tasks
        try store.context.save()
        try await store.follow()
        let new = try store.add("after b")
        group.tasks = [tasks[3], tasks[0], tasks[1], new, tasks[2]]
        try await store.write("DELETE FROM C_Task WHERE title = 'b'")
        try await store.expectEventually { tasks[1].state.isGone }
        #expect(group.tasks.map(\.title) == ["d", "a", "after b", "c"])
        store.context.mergePolicy = .keepStored
        try store.context.save()
        let other = try store.container.newBackgroundContext()
        let same = try #require(try other.existingObject(with: group.objectID) as? TodoGroup)
        #expect(same.tasks.map(\.title) == ["d", "a", "after b", "c"])
    }

    @Test("E-65: another process with our author's name", arguments: DaemonFate.allCases)
    func theSameAuthorElsewhere(fate: DaemonFate) async throws {
        let store = try await SharedStore(fate)
        let task = try store.add("a")
        try store.context.save()
        try await store.follow()
        try await store.write(
            "BEGIN; INSERT INTO syncd_txn(author, pid) VALUES ('me', 1);"
                + "UPDATE C_Task SET title = 'b'; COMMIT")
        try await store.expectEventually { task.title == "b" }
    }
}
