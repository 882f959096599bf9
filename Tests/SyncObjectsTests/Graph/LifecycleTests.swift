import Foundation
import Testing

@testable import SyncObjects

final class Diary: ManagedObject, @unchecked Sendable {
    @Attribute("text") var text: String?
    @Attribute("draft") var draft: String?
    @Transformed("tags") var tags: [String]?
    var calls: [String] = []

    override func awakeFromInsert() { calls.append("insert \(text ?? "nil")") }
    override func awakeFromFetch() { calls.append("fetch") }
    override func willSave() { calls.append("willSave") }
    override func didSave() { calls.append("didSave") }
    override func prepareForDeletion() { calls.append("prepare") }
    override func validate(_ value: inout (any Sendable)?, forKey key: String) throws {
        if key == "text", value as? String == "trim " { value = "trim" }
    }
}

/// What an object goes through in a context.
@Suite final class LifecycleTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext

    init() throws {
        let model = try ManagedObjectModel(
            TodoModel.entities() + [
                EntityDescription(
                    "Diary", class: Diary.self,
                    attributes: [
                        AttributeDescription("text", default: "new"), .transient("draft"),
                        .transformable("tags", by: .json([String].self)),
                    ])
            ])
        container = try PersistentContainer.inMemory(model)
        context = try container.newBackgroundContext()
        other = try container.newBackgroundContext()
    }

    @Test func hooksAreCalledOnce() throws {
        let diary = try Diary(context: context)
        try context.save()
        diary.text = "b"
        try context.save()
        try context.delete(diary)
        try context.save()
        #expect(
            diary.calls == [
                "insert new", "willSave", "didSave", "willSave", "didSave", "prepare", "willSave",
                "didSave",
            ])
    }

    @Test func transientAndTransformableValues() throws {
        let diary = try Diary(context: context)
        diary.draft = "unsaved"
        diary.tags = ["a", "b"]
        diary.text = "trim "
        try context.save()
        #expect(diary.draft == "unsaved")
        #expect(diary.text == "trim")
        let copy = try #require(try other.existingObject(with: diary.objectID) as? Diary)
        #expect(copy.tags == ["a", "b"])
        #expect(copy.draft == nil)
        #expect(copy.calls == ["fetch"])
    }

    @Test func findingByIdentity() throws {
        let diary = try Diary(context: context)
        #expect(try context.existingObject(with: diary.objectID) === diary)
        try context.save()
        #expect(other.registeredObject(for: diary.objectID) == nil)
        let fault = try other.object(with: diary.objectID)
        #expect(fault.isFault)
        #expect(other.registeredObject(for: diary.objectID) === fault)
        #expect(try other.existingObject(with: diary.objectID) === fault)
        #expect(!fault.isFault)
        let foreign = try PersistentContainer.inMemory(try TodoModel.make())
        #expect(throws: ObjectError(.noSuchObject, "")) {
            try foreign.viewContext.existingObject(with: diary.objectID)
        }
    }

    @Test func refreshDropsOrKeepsEdits() throws {
        let diary = try Diary(context: context)
        try context.save()
        diary.text = "edit"
        try context.refresh(diary, mergeChanges: true)
        #expect(diary.text == "edit")
        try context.refresh(diary, mergeChanges: false)
        #expect(diary.isFault)
        #expect(diary.text == "new")
        #expect(!context.hasChanges)
    }

    @Test func nothingToSaveSavesNothing() async throws {
        let events = context.events
        try Diary(context: context).text = "x"
        try context.save()
        try context.save()
        context.reset()
        var saves = 0
        for await event in events {
            if case .didSave = event { saves += 1 }
            if case .didReset = event { break }
        }
        #expect(saves == 1)
    }

    @Test func backgroundTasksReachTheViewContext() async throws {
        let view = try container.viewContext
        let id = try await container.performBackgroundTask { context in
            #expect(context.parent == nil)
            let task = try TodoTask(context: context)
            try context.save()
            return task.objectID
        }
        #expect(try view.fetch(TodoTask.self).map(\.objectID) == [id])
    }

    @Test func mandatoryReferenceStandsAgainstNullify() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "Owner", relationships: [.toMany("pets", to: "Pet", inverse: "owner")]),
            EntityDescription(
                "Pet",
                relationships: [.toOne("owner", to: "Owner", inverse: "pets", optional: false)]),
        ])
        let container = try PersistentContainer.inMemory(model)
        let context = try container.viewContext
        let owner = try context.insert("Owner")
        let pet = try context.insert("Pet")
        #expect(throws: ObjectError(.missingMandatory, "")) { try context.save() }
        pet["owner"] = owner
        try context.save()
        try context.delete(owner)
        #expect(throws: ObjectError(.missingMandatory, "")) { try context.save() }
        try context.delete(pet)
        try context.save()
    }

    @Test func childEditsOfWhatItsParentDeleted() throws {
        let diary = try Diary(context: context)
        try context.save()
        let child = context.makeChild()
        let copy = try #require(try child.existingObject(with: diary.objectID) as? Diary)
        copy.text = "edited"
        try context.delete(diary)
        let error = #expect(throws: ObjectError.self) { try child.save() }
        #expect(error?.code == .deletedElsewhere)
        #expect(copy.text == "edited")
        #expect(try child.count(for: FetchRequest<Diary>()) == 0)
        context.rollback()
        #expect(try context.count(for: FetchRequest<Diary>()) == 1)
    }
}
