import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// Objects that have unsaved edits when their own context deletes them.
@Suite final class OwnDeletionTests {
    /// How an object with edits comes to be deleted by the context itself.
    enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case editThenDelete, deleteThenEdit, loop, ownerThenMember, memberThenOwner, moved
        case cascade, willSave, editedInTheParent, editedInTheChild, childOfAChild
        case deniedThenSaved, refusedThenSaved, undoneAndRedone, deletedTwice, deletedByBoth

        var testDescription: String { rawValue }
    }

    private let folder: TemporaryFolder
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let team: StaffTeam
    private let chief: StaffPerson
    private let person: StaffPerson
    private let job: StaffJob

    init() throws {
        folder = try TemporaryFolder()
        container = try folder.container("staff.sqlite", try StaffModel.make())
        context = try container.newBackgroundContext(author: "me")
        team = try StaffTeam(context: context)
        team.name = "team"
        chief = try StaffPerson(context: context)
        chief.name = "chief"
        chief.team = team
        person = try StaffPerson(context: context)
        person.name = "person"
        person.team = team
        person.boss = chief
        job = try StaffJob(context: context)
        job.name = "job"
        job.team = team
        try context.save()
    }

    /// Deletes one of the objects; answers which, and how many rows are left of four.
    private func run(_ way: Way) throws -> (ManagedObject, left: Int) {
        switch way {
        case .editThenDelete:
            person.name = "2"
            try context.delete(person)
        case .deleteThenEdit:
            try context.delete(person)
            person.name = "2"
        case .loop:
            for object in [chief, person] { try context.delete(object) }
            return (person, 2)
        case .ownerThenMember:
            try context.delete(chief)
            try context.delete(person)
            return (person, 2)
        case .memberThenOwner:
            try context.delete(person)
            try context.delete(chief)
            return (person, 2)
        case .moved:
            person.boss = nil
            person.team = nil
            try context.delete(person)
        case .cascade:
            job.name = "2"
            try context.delete(team)
            return (job, 2)
        case .willSave:
            StaffPerson.stamps.withLock { _ = $0.insert(person.objectID) }
            try context.delete(person)
        default: try runElsewhere(way)
        }
        return (person, 3)
    }

    /// The ways in which others take part, or a save before the last one.
    private func runElsewhere(_ way: Way) throws {
        switch way {
        case .editedInTheParent:
            person.name = "2"
            try delete(in: context.makeChild())
        case .editedInTheChild:
            try delete(in: context.makeChild(), edits: true)
        case .childOfAChild:
            person.name = "2"
            let child = context.makeChild()
            try delete(in: child.makeChild(), edits: true)
            try child.save()
            #expect(!child.hasChanges)
        case .deniedThenSaved:
            person.name = "2"
            job.owner = person
            try context.delete(person)
            #expect(throws: ObjectError(.deleteDenied, "")) { try context.save() }
            job.owner = nil
        case .refusedThenSaved:
            person.name = "2"
            try context.delete(person)
            chief.name = nil
            #expect(throws: ObjectError.self) { try context.save() }
            chief.name = "chief"
        case .undoneAndRedone:
            context.isUndoEnabled = true
            person.name = "2"
            context.processPendingChanges()
            try context.delete(person)
            try context.save()
            try context.undo()
            #expect(person.name == "2")
            try context.save()
            #expect(!context.hasChanges && person.state == .clean)
            try context.redo()
        case .deletedTwice:
            person.name = "2"
            try context.delete(person)
            try context.save()
            person.name = "3"
            try context.delete(person)
        case .deletedByBoth:
            person.name = "2"
            try context.delete(person)
            let theirs = try container.newBackgroundContext(author: "them")
            try theirs.delete(try theirs.existingObject(with: person.objectID))
            try theirs.save()
        default: Issue.record("no way")
        }
    }

    private func delete(in context: ManagedObjectContext, edits: Bool = false) throws {
        let copy = try #require(
            try context.existingObject(with: person.objectID) as? StaffPerson)
        if edits { copy.name = "3" }
        try context.delete(copy)
        try context.save()
        #expect(!context.hasChanges)
        try StaffPerson(context: context).name = "new"
        context.rollback()
        try context.save()
    }

    private func rows() throws -> Int {
        try container.coordinator.read { db in
            try ["Team", "Person", "Job"].reduce(0) {
                try $0 + (Int.fetchOne(db, sql: "SELECT count(*) FROM \($1)") ?? 0)
            }
        }
    }

    @Test(
        arguments: Way.allCases,
        [MergePolicy.fail, .keepLocal, .keepStored, .overwrite, .discardLocal])
    func editsDieWithTheirObject(way: Way, policy: MergePolicy) throws {
        context.mergePolicy = policy
        let (object, left) = try run(way)
        try context.save()
        #expect(object.state.isGone)
        #expect(!context.hasChanges)
        #expect(try rows() == left)
        try StaffTeam(context: context).name = "next"
        try context.save()
        #expect(!context.hasChanges)
        #expect(try rows() == left + 1)
        #expect(try container.coordinator.resolvedConflicts.isEmpty)
    }

    @Test func policiesHaveCoreDatasNamesToo() {
        #expect(MergePolicy.error == .fail && MergePolicy.rollback == .discardLocal)
        #expect(MergePolicy.mergeByPropertyStoreTrump == .keepStored)
        #expect(MergePolicy.mergeByPropertyObjectTrump == .keepLocal)
    }

    @Test func insertedObjectsAreThoseThatAreNotSaved() throws {
        #expect(context.insertedObjects.isEmpty)
        let team = try StaffTeam(context: context)
        team.name = "new"
        #expect(context.insertedObjects == [team])
        try context.save()
        #expect(context.insertedObjects.isEmpty)
    }

    @Test func mergedDeletionsByAnotherLeaveNothingToSave() throws {
        person.name = "2"
        try context.delete(person)
        let theirs = try container.newBackgroundContext(author: "them")
        try theirs.delete(try theirs.existingObject(with: person.objectID))
        try theirs.save()
        context.performAndWait {}
        #expect(person.gone?.author == "them")
        #expect(!context.hasChanges)
    }

    @Test(arguments: [MergePolicy.fail, .keepLocal, .overwrite, .keepStored])
    func aKeyThatAnotherUsedAgainIsNotDeleted(policy: MergePolicy) throws {
        context.automaticallyMergesChangesFromParent = false
        context.mergePolicy = policy
        let id = person.objectID
        person.name = "2"
        try context.delete(person)
        let theirs = try container.newBackgroundContext()
        theirs.isUndoEnabled = true
        try theirs.delete(try theirs.existingObject(with: id))
        try theirs.save()
        try theirs.undo()
        let other = try #require(try theirs.fetch(StaffPerson.self).first { $0.boss != nil })
        other.name = "theirs"
        try theirs.save()
        #expect(other.objectID.incarnation == 2)
        try context.save()
        #expect(!context.hasChanges)
        #expect(try rows() == 4)
    }
}
