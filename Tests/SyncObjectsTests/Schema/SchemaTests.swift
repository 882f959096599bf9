import Foundation
import GRDB
import Testing

@testable import SyncObjects

@Suite struct SchemaTests {
    private func database() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        return try DatabaseQueue(configuration: configuration)
    }

    private func open(
        _ queue: DatabaseQueue, _ entities: [EntityDescription], automatic: Bool = true,
        stages: [MigrationStage] = []
    ) throws {
        let migrator = SchemaMigrator(
            model: try ManagedObjectModel(entities), migratesAutomatically: automatic,
            stages: stages)
        try queue.writeWithoutTransaction { try migrator.run($0) }
    }

    private func strings(_ queue: DatabaseQueue, _ sql: String) throws -> [String?] {
        try queue.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { $0.isNull ? "-" : "\($0.storage.value ?? "")" }
                    .joined(separator: "|")
            }
        }
    }

    @Test func otherProgramsCanWriteTheTables() throws {
        let queue = try database()
        try open(queue, TodoModel.entities())
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = ON;
                    INSERT INTO C_Group DEFAULT VALUES;
                    INSERT INTO C_Task(title, "group") VALUES ('a', 1), ('b', 1);
                    INSERT INTO C_Memo(content, task) VALUES ('m', 1);
                    """)
            #expect(throws: DatabaseError.self) {
                try db.execute(sql: "INSERT INTO C_Task(\"group\") VALUES (99)")
            }
            try db.execute(sql: "DELETE FROM C_Group")
        }
        #expect(try strings(queue, "SELECT count(*) FROM C_Memo") == ["0"])
    }

    @Test func addedAndRenamedColumnsAreAlteredInPlace() throws {
        let queue = try database()
        try open(queue, TodoModel.entities())
        try queue.write { db in
            try db.execute(sql: "INSERT INTO C_Task(title, priority) VALUES ('a', 3)")
            try db.execute(
                sql: """
                    CREATE TRIGGER stays AFTER INSERT ON C_Task BEGIN
                    UPDATE C_Task SET priority = 9 WHERE id = new.id; END
                    """)
        }
        var entities = TodoModel.entities()
        entities[1].attributes[0] = AttributeDescription("name", optional: true)
            .renamed(from: "title")
        entities[1].attributes.append(AttributeDescription("due", .date, optional: true))
        entities[1].attributes.append(AttributeDescription("stars", .integer16, default: 5))
        try open(queue, entities)
        #expect(
            try strings(queue, "SELECT id, name, priority, due, stars FROM C_Task") == ["1|a|3|-|5"]
        )
        #expect(
            try strings(queue, "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
                == ["stays"])
    }

    @Test func keysAreNotGivenTwiceAfterARebuild() throws {
        let queue = try database()
        try open(queue, TodoModel.entities())
        try queue.write { db in
            try db.execute(sql: "INSERT INTO C_Task(title) VALUES ('a'), ('b'), ('c')")
            try db.execute(sql: "DELETE FROM C_Task WHERE id = 3")
        }
        var entities = TodoModel.entities()
        entities[1].attributes.remove(at: 2)
        entities[1].attributes[1] = AttributeDescription("priority", .double, default: 0)
        entities[1] = entities[1].renamed(from: "C_Task")
        entities[1].name = "Job"
        entities[0].relationships[0].destination = "Job"
        entities[2].relationships[0].destination = "Job"
        try open(queue, entities)
        try queue.write { try $0.execute(sql: "INSERT INTO Job(title) VALUES ('d')") }
        #expect(
            try strings(queue, "SELECT id, title FROM Job ORDER BY id")
                == ["1|a", "2|b", "4|d"])
        #expect(
            try strings(queue, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'C_Task%'")
                == ["0"])
    }

    @Test func blockedMigrationListsWhatBlocksAndChangesNothing() throws {
        let queue = try database()
        try open(queue, TodoModel.entities())
        let before = try strings(queue, "SELECT sql FROM sqlite_schema ORDER BY name")
        var entities = TodoModel.entities()
        entities[1].attributes.append(AttributeDescription("due", .date))
        entities[1].attributes[0].type = .integer16
        let error = #expect(throws: ObjectError.self) { try open(queue, entities) }
        #expect(error?.code == .cannotMigrate)
        #expect(error?.details.map(\.property) == ["title", "due"])
        #expect(try strings(queue, "SELECT sql FROM sqlite_schema ORDER BY name") == before)
        let refused = #expect(throws: ObjectError.self) {
            try open(queue, entities, automatic: false)
        }
        #expect(refused?.code == .incompatibleModel)
    }

    @Test func stagesRunInOrderFromTheStoresOwn() throws {
        let queue = try database()
        try open(queue, TodoModel.entities())
        try queue.write { try $0.execute(sql: "INSERT INTO C_Task(title) VALUES ('7')") }
        var second = TodoModel.entities()
        second[1].attributes[0] = AttributeDescription("title", .integer64, optional: true)
        var third = second
        third[1].attributes[0] = AttributeDescription("number", .integer64, default: 1)
            .renamed(from: "title")
        let stages = [
            MigrationStage(to: try ManagedObjectModel(TodoModel.entities())),
            MigrationStage(
                to: try ManagedObjectModel(second),
                after: { try $0.execute(sql: "UPDATE C_Task SET title = title * 2") }),
        ]
        try open(queue, third, stages: stages)
        #expect(try strings(queue, "SELECT number FROM C_Task") == ["14"])
        let error = #expect(throws: ObjectError.self) {
            try open(queue, TodoModel.entities(), stages: stages + stages)
        }
        #expect(error?.reason.contains("equal models") == true)
    }

    @Test func pairsSurviveTheRenamingOfTheirRelationship() throws {
        func model(_ items: String) -> [EntityDescription] {
            [
                EntityDescription(
                    "Tag",
                    relationships: [
                        .toMany(items, to: "Item", inverse: "tags").renamed(from: "items")
                    ]),
                EntityDescription(
                    "Item", relationships: [.toMany("tags", to: "Tag", inverse: items)]),
            ]
        }
        let queue = try database()
        try open(queue, model("items"))
        try queue.write { db in
            try db.execute(sql: "INSERT INTO Tag(id) VALUES (1), (2)")
            try db.execute(sql: "INSERT INTO Item(id) VALUES (10)")
            try db.execute(sql: "INSERT INTO Item_tags(source, target) VALUES (10, 2)")
        }
        try open(queue, model("things"))
        #expect(try strings(queue, "SELECT source, target FROM Item_tags") == ["10|2"])
    }

    @Test func existingSchemaBecomesAModel() throws {
        let queue = try database()
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name NVARCHAR(120));
                    CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL,
                      ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId), Released DATETIME);
                    CREATE TABLE Playlist(code TEXT PRIMARY KEY);
                    CREATE TABLE PlaylistAlbum(AlbumId INTEGER NOT NULL REFERENCES Album(AlbumId),
                      code TEXT NOT NULL REFERENCES Playlist(code), PRIMARY KEY(AlbumId, code));
                    CREATE TABLE Loose(x);
                    """)
            let (model, notes) = try ManagedObjectModel.reading(db)
            #expect(model.entities.map(\.name) == ["Album", "Artist", "Playlist"])
            #expect(notes == ["“Loose” has no key: its rows have no identity that lasts"])
            let album = try model.entity("Album")
            #expect(album.attributeNames == ["AlbumId", "Title", "Released"])
            #expect(album.attribute("Released")?.type == .date)
            #expect(album.relationshipNames == ["Artist", "Playlist"])
            #expect(album.relation("Artist")?.description.isOptional == false)
            #expect(try model.entity("Artist").relation("Album")?.description.deleteRule == .deny)
            #expect(model.joins.map(\.table) == ["PlaylistAlbum"])
        }
    }
}
