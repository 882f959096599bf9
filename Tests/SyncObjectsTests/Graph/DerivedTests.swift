import Foundation
import GRDB
import SyncTesting
import Testing

@testable import SyncObjects

/// Derived attributes equal what they are derived from, whatever wrote.
@Suite struct DerivedTests {
    private static func model(_ extra: [AttributeDescription] = []) throws -> ManagedObjectModel {
        try ManagedObjectModel([
            EntityDescription(
                "Owner",
                attributes: [
                    AttributeDescription("name"), AttributeDescription("other", optional: true),
                    .derived("same", .string, from: "name"),
                    .derived("folded", .string, from: "canonical:(name)"),
                    .derived("upper", .string, from: "uppercase:(name)"),
                    .derived("count", .integer64, from: "pets.@count"),
                    .derived("cats", .integer64, from: "pets.@count(kind == 'cat')"),
                    .derived("age", .integer64, from: "pets.age.@sum"),
                    .derived("tags", .integer64, from: "labels.@count"),
                    .derived("saved", .date, from: "now()"),
                ] + extra,
                relationships: [
                    .toMany("pets", to: "Pet", inverse: "owner", deleteRule: .cascade),
                    .toMany("labels", to: "Label", inverse: "owners"),
                ]),
            EntityDescription(
                "Pet",
                attributes: [
                    AttributeDescription("kind"),
                    AttributeDescription("age", .integer64, default: 1),
                    .derived("ownerName", .string, from: "owner.name"),
                ], relationships: [.toOne("owner", to: "Owner", inverse: "pets")]),
            EntityDescription(
                "Label", attributes: [AttributeDescription("text", optional: true)],
                relationships: [.toMany("owners", to: "Owner", inverse: "labels")]),
        ])
    }

    private func make(_ folder: TemporaryFolder) throws -> (PersistentContainer, ManagedObject) {
        let container = try folder.container("d.sqlite", try Self.model())
        let context = try container.viewContext
        let owner = try context.insert("Owner")
        owner["name"] = "Zoë"
        for (kind, age) in [("cat", 3), ("dog", 4), ("cat", 5)] {
            let pet = try context.insert("Pet")
            pet["kind"] = kind
            pet["age"] = age
            pet["owner"] = owner
        }
        try context.save()
        return (container, owner)
    }

    @Test func valuesAreThereAfterTheSave() throws {
        let folder = try TemporaryFolder()
        let (container, owner) = try make(folder)
        let context = try container.viewContext
        #expect(owner["same"] as? String == "Zoë")
        #expect(owner["folded"] as? String == "zoe")
        #expect(owner["upper"] as? String == "ZOË")
        #expect(owner["count"] as? Int64 == 3)
        #expect(owner["cats"] as? Int64 == 2)
        #expect(owner["age"] as? Int64 == 12)
        #expect(owner["tags"] as? Int64 == 0)
        let pets = try #require(owner["pets"] as? [ManagedObject])
        #expect(pets.allSatisfy { $0["ownerName"] as? String == "Zoë" })
        // The other side is notified, also if only one end of a relationship changed.
        owner["name"] = "Ada"
        pets[0]["kind"] = "bird"
        pets[1]["age"] = 10
        let label = try context.insert("Label")
        owner["labels"] = [label]
        try context.save()
        #expect(owner["same"] as? String == "Ada")
        #expect(owner["folded"] as? String == "ada")
        #expect(owner["cats"] as? Int64 == 1)
        #expect(owner["age"] as? Int64 == 18)
        #expect(owner["tags"] as? Int64 == 1)
        #expect(pets.allSatisfy { $0["ownerName"] as? String == "Ada" })
        try context.delete(pets[2])
        try context.save()
        #expect(owner["count"] as? Int64 == 2)
        #expect(throws: ObjectError.self) { try owner.setValue(7, forKey: "count") }
        #expect(owner.state == .clean)
    }

    @Test func nowMovesWithEachSaveOfTheObject() async throws {
        let folder = try TemporaryFolder()
        let (container, owner) = try make(folder)
        let first = try #require(owner["saved"] as? Date)
        #expect(abs(first.timeIntervalSinceNow) < 60)
        try await Task.sleep(for: .milliseconds(20))
        owner["other"] = "x"
        try container.viewContext.save()
        let second = try #require(owner["saved"] as? Date)
        #expect(second > first)
    }

    @Test("E-52: right at every read, whatever deleted the children")
    func otherProgramsKeepThemRight() async throws {
        let folder = try TemporaryFolder()
        let (container, owner) = try make(folder)
        let path = folder.file("d.sqlite").path
        try await SharedStore.run(
            path, "DELETE FROM Pet WHERE kind = 'cat'; UPDATE Owner SET name = 'Eve'",
            usesPython: false)
        try container.coordinator.checkForExternalChanges()
        let context = try container.viewContext
        try context.refresh(owner, mergeChanges: false)
        #expect(owner["count"] as? Int64 == 1)
        #expect(owner["cats"] as? Int64 == 0)
        #expect(owner["age"] as? Int64 == 4)
        #expect(owner["same"] as? String == "Eve")
        let pets = try #require(owner["pets"] as? [ManagedObject])
        #expect(pets.map { $0["ownerName"] as? String } == ["Eve"])
        // Conflicts are not about them.
        owner["other"] = "edited"
        try await SharedStore.run(
            path, "INSERT INTO Pet(kind, age, owner) VALUES ('cat', 1, 1)",
            usesPython: true)
        try context.save()
        #expect(owner["count"] as? Int64 == 2)
    }

    @Test func migrationComputesWhatIsThere() throws {
        let folder = try TemporaryFolder()
        let (container, _) = try make(folder)
        container.close()
        let model = try Self.model([.derived("again", .integer64, from: "pets.@count(age > 3)")])
        let context = try folder.container("d.sqlite", model).viewContext
        let owner = try #require(
            try context.fetch(FetchRequest<ManagedObject>("Owner")).first)
        #expect(owner["again"] as? Int64 == 2)
        #expect(owner["count"] as? Int64 == 3)
    }

    @Test func whatCannotBeCountedByIsRefused() throws {
        let model = try Self.model([
            .derived("bad", .integer64, from: "pets.@count(kind LIKE 'c*')")
        ])
        let error = #expect(throws: ObjectError.self) { try PersistentContainer.inMemory(model) }
        #expect(error?.code == .invalidModel)
    }

    @Test func aMigrationDropsNoTriggersOfOthers() throws {
        let folder = try TemporaryFolder()
        try make(folder).0.close()
        let queue = try DatabaseQueue(path: folder.file("d.sqlite").path)
        let names = ["derived_audit", "derived_Owner_count_", "derived_Owner_count_x"]
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE audit(name)")
            for name in names {
                try db.execute(
                    sql: "CREATE TRIGGER \(name) AFTER INSERT ON Pet BEGIN "
                        + "INSERT INTO audit VALUES ('\(name)'); END")
            }
        }
        let own = { (db: Database) in
            try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' "
                    + "AND name LIKE 'derived\\_%' ESCAPE '\\'") ?? 0
        }
        let before = try queue.read(own)
        let extra = AttributeDescription.derived("copy", .string, from: "name")
        let container = try folder.container("d.sqlite", try Self.model([extra]))
        let after = try queue.read(own)
        // An insert and an update trigger for the new attribute.
        #expect(after == before + 2)
        let context = try container.viewContext
        let pet = try context.insert("Pet")
        pet["kind"] = "cat"
        pet["owner"] = try context.fetch(FetchRequest<ManagedObject>("Owner")).first
        try context.save()
        #expect((pet["owner"] as? ManagedObject)?["count"] as? Int64 == 4)
        #expect((pet["owner"] as? ManagedObject)?["copy"] as? String == "Zoë")
        let noted = try queue.read { try String.fetchSet($0, sql: "SELECT name FROM audit") }
        #expect(noted == Set(names))
    }
}
