import Foundation
import GRDB
import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

/// What reaches a context late, or twice, or while it does something else: found by `objectstress`,
/// here one step at a time.
@Suite struct MergeOrderTests {
    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let mine: ManagedObjectContext
    private let theirs: ManagedObjectContext
    private let task: TodoTask
    private let same: TodoTask

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container()
        mine = try container.newBackgroundContext(author: "me")
        theirs = try container.newBackgroundContext(author: "them")
        task = try TodoTask(context: mine)
        task.title = "a"
        try mine.save()
        _ = try Store.track(folder.file("store.sqlite").path)
        try container.coordinator.checkForExternalChanges()
        same = try #require(try theirs.existingObject(with: task.objectID) as? TodoTask)
        for context in [mine, theirs] {
            try context.mergeChanges()
            context.automaticallyMergesChangesFromParent = false
        }
    }

    private func foreign(_ sql: String) throws {
        let other = try DatabaseQueue(path: folder.file("store.sqlite").path)
        try other.write { try $0.execute(sql: sql) }
    }

    @Test func rowsOlderThanASaveAreNotMergedAfterIt() throws {
        same.title = "b"
        try theirs.save()
        task.title = "c"
        mine.mergePolicy = .keepLocal
        try mine.save()
        try mine.mergeChanges()
        #expect(task.title == "c")
        #expect(try container.viewContext.fetch(TodoTask.self).map(\.title) == ["c"])
    }

    @Test(arguments: [true, false])
    func aDeletionTakenBackShowsWhatOthersSavedMeanwhile(byUndo: Bool) throws {
        mine.isUndoEnabled = true
        try mine.delete(task)
        same.title = "b"
        try theirs.save()
        try mine.mergeChanges()
        if byUndo { try mine.undo() } else { mine.rollback() }
        #expect(task.state == .clean)
        #expect(task.title == "b")
    }

    @Test func aChangeOfWhatIsToBeDeletedStaysAConflict() throws {
        try mine.delete(task)
        same.title = "b"
        try theirs.save()
        try mine.mergeChanges()
        let error = #expect(throws: ObjectError.self) { try mine.save() }
        #expect(error?.code == .deleteOfChangedObject)
    }

    @Test func aRowThatOneContextMissesAndHistoryTellsOfIsOneDeletion() throws {
        let coordinator = try container.coordinator
        coordinator.publishUnknown(coordinator.allRoots)
        try theirs.mergeChanges()
        try foreign("DELETE FROM C_Task")
        try mine.mergeChanges()
        #expect(task.state.isGone)
        #expect(!same.state.isGone)
        try coordinator.checkForExternalChanges()
        try theirs.mergeChanges()
        #expect(same.state.isGone)
        try foreign("INSERT INTO C_Task(id, title) VALUES (1, 'new')")
        try coordinator.checkForExternalChanges()
        let found = try mine.fetch(TodoTask.self)
        #expect(found.map(\.objectID.incarnation) == [2])
    }

    @Test func aRowReadBeforeItsDeletionIsHeardOfIsTheDeletedOne() throws {
        let identities = try container.coordinator.identities
        let origin = identities.origin("C_Task")
        let known = identities.incarnations("C_Task")
        let deleted = identities.recordDeletion(origin: origin, key: .integer(1), at: 1000)
        #expect(known.id(.integer(1)) == deleted)
        #expect(identities.incarnations("C_Task").id(.integer(1)).incarnation == 2)
    }

    @Test func aRevivedObjectIsNotGoneByTheEchoOfItsDeletion() throws {
        mine.mergePolicy = .keepLocal
        task.title = "kept"
        try foreign("DELETE FROM C_Task")
        try mine.save()
        try container.coordinator.checkForExternalChanges()
        try mine.mergeChanges()
        #expect(task.state == .clean)
        #expect(task.objectID.incarnation == 2)
        try foreign("DELETE FROM C_Task")
        try container.coordinator.checkForExternalChanges()
        try mine.mergeChanges()
        #expect(task.state.isGone)
    }
}
