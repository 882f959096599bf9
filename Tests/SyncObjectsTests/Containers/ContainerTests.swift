import Foundation
import GRDB
import SyncTesting
import Testing

@testable import SyncObjects

@Suite struct ContainerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func fill(_ container: PersistentContainer, _ titles: String...) throws {
        let context = try container.viewContext
        for title in titles { try TodoTask(context: context).title = title }
        try context.save()
    }

    private func titles(_ container: PersistentContainer) throws -> [String] {
        let context = try container.newBackgroundContext()
        return try context.fetch(FetchRequest<TodoTask>(sortedBy: [SortKey("title")]))
            .compactMap(\.title)
    }

    private func bytes(_ folder: URL) throws -> [String: Data] {
        var result: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            result[name] = try Data(contentsOf: folder.appendingPathComponent(name))
        }
        return result
    }

    /// A bundle whose last task is in the WAL alone.
    private func makeBundle() throws -> URL {
        let source = try folder.container("source.sqlite")
        try fill(source, "main")
        try source.coordinator.queue.writeWithoutTransaction { db in
            _ = try db.checkpoint(.truncate)
        }
        try fill(source, "wal")
        let bundle: URL = folder.file("bundle")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        for suffix in ["", "-wal", "-shm"] {
            try FileManager.default.copyItem(
                atPath: folder.file("source.sqlite").path + suffix,
                toPath: bundle.appendingPathComponent("b.sqlite").path + suffix)
        }
        return bundle
    }

    private func container(_ kind: StoreDescription.Kind) throws -> PersistentContainer {
        let container = PersistentContainer(
            name: "b", model: try TodoModel.make(), description: StoreDescription(kind))
        try container.load()
        return container
    }

    @Test func descriptionsHaveTheirDefaults() throws {
        let container = PersistentContainer(name: "X", model: try TodoModel.make())
        #expect(container.storeDescription.url?.lastPathComponent == "X.sqlite")
        #expect(!container.storeDescription.isReadOnly)
        #expect(container.storeDescription.migratesAutomatically)
        #expect(throws: ObjectError(.cannotOpen, "")) { try container.viewContext }
        #expect(!container.isLoaded)
    }

    @Test func fileKeepsItsDataIdentityAndMetadata() throws {
        let first = try folder.container()
        try fill(first, "a")
        try first.setMetadata("7", forKey: "app")
        let id = try first.coordinator.storeID
        first.close()
        let second = try folder.container()
        #expect(try titles(second) == ["a"])
        #expect(try second.metadata() == ["app": "7"])
        #expect(try second.coordinator.storeID == id)
        #expect(try second.viewContext.parent == nil)
        #expect(try second.viewContext.concurrency == .main)
    }

    @Test func asynchronousLoadTellsLater() async throws {
        let container = PersistentContainer(
            name: "x", model: try TodoModel.make(), description: StoreDescription(.memory))
        container.storeDescription.addsAsynchronously = true
        let error = await withCheckedContinuation { continuation in
            container.load { continuation.resume(returning: $0 == nil) }
        }
        #expect(error)
        #expect(container.isLoaded)
    }

    @Test func memoryContainersShareNothing() throws {
        let model = try TodoModel.make()
        let one = try PersistentContainer.inMemory(model) { context in
            for index in 0..<10 { try TodoTask(context: context).title = "\(index)" }
        }
        let two = try PersistentContainer.inMemory(model)
        #expect(try titles(one).count == 10)
        #expect(try titles(two).isEmpty)
    }

    @Test func loadErrorsSayWhatAndWhere() throws {
        let first = try folder.container()
        try fill(first, "a")
        first.close()
        var entities = TodoModel.entities()
        entities[1].attributes.append(AttributeDescription("due", .date, optional: true))
        let next = PersistentContainer(
            name: "n", model: try ManagedObjectModel(entities),
            description: StoreDescription(.file(folder.file("store.sqlite"))))
        next.storeDescription.migratesAutomatically = false
        let error = #expect(throws: ObjectError.self) { try next.load() }
        #expect(error?.code == .incompatibleModel)
        #expect(error?.path == folder.file("store.sqlite").path)
        #expect(!next.isLoaded)
        next.storeDescription.migratesAutomatically = true
        try next.load()
        #expect(try titles(next) == ["a"])
        try Data("no database, but long enough to be one".utf8)
            .write(to: folder.file("text.sqlite"))
        let text = #expect(throws: ObjectError.self) {
            try folder.container("text.sqlite")
        }
        #expect(text?.code == .cannotOpen)
        #expect(text?.hint != nil)
    }

    @Test func bundleIsReadWithItsWALAndNeverChanges() throws {
        let bundle = try makeBundle()
        let before = try bytes(bundle)
        let url = bundle.appendingPathComponent("b.sqlite")
        do {
            let session = try container(.bundle(url))
            #expect(try titles(session) == ["main", "wal"])
            try fill(session, "edit")
            let context = try session.newBackgroundContext()
            try context.fetch(FetchRequest<TodoTask>(where: FetchPredicate("title == 'main'")))
                .forEach(context.delete)
            try context.save()
            #expect(try titles(session) == ["edit", "wal"])
        }
        #expect(try bytes(bundle) == before)
        #expect(try titles(try container(.bundle(url))) == ["main", "wal"])
    }

    @Test func missingBundleFileIsNamed() throws {
        let error = #expect(throws: ObjectError.self) {
            try container(.bundle(folder.file("nothing.sqlite")))
        }
        #expect(error?.code == .missingFile)
        #expect(error?.path == folder.file("nothing.sqlite").path)
        let bundle = try makeBundle()
        let url = bundle.appendingPathComponent("b.sqlite")
        try FileManager.default.removeItem(atPath: url.path + "-wal")
        try FileManager.default.removeItem(atPath: url.path + "-shm")
        #expect(try titles(try container(.bundle(url))) == ["main"])
    }

    @Test func cachedCopyIsKeptOrMadeAnew() throws {
        let bundle = try makeBundle()
        let before = try bytes(bundle)
        let source = bundle.appendingPathComponent("b.sqlite")
        let cache: URL = folder.file("caches/c.sqlite")
        let kept = StoreDescription.Kind.cachedCopy(of: source, cache: cache, alwaysCopy: false)
        let first = try container(kept)
        #expect(try titles(first) == ["main", "wal"])
        try fill(first, "edit")
        first.close()
        let second = try container(kept)
        #expect(try titles(second) == ["edit", "main", "wal"])
        second.close()
        let again = StoreDescription.Kind.cachedCopy(of: source, cache: cache, alwaysCopy: true)
        #expect(try titles(try container(again)) == ["main", "wal"])
        #expect(try bytes(bundle) == before)
        let left = try FileManager.default.contentsOfDirectory(
            atPath: cache.deletingLastPathComponent().path)
        #expect(left.allSatisfy { $0.hasPrefix("c.sqlite") })
    }

    @Test func readOnlyStoreRefusesSavesAndKeepsEdits() throws {
        let first = try folder.container()
        try fill(first, "a")
        first.close()
        let reader = PersistentContainer(
            name: "r", model: try TodoModel.make(),
            description: StoreDescription(.file(folder.file("store.sqlite"))))
        reader.storeDescription.isReadOnly = true
        try reader.load()
        let context = try reader.viewContext
        let task = try #require(try context.fetch(TodoTask.self).first)
        task.title = "b"
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .readOnly)
        #expect(task.title == "b")
        #expect(task.state == .updated)
    }

    @Test func replacedAndRemovedFilesAreNoticedBeforeAWrite() throws {
        let container = try folder.container()
        try fill(container, "a")
        let context = try container.newBackgroundContext()
        let task = try #require(try context.fetch(TodoTask.self).first)
        task.title = "b"
        let url: URL = folder.file("store.sqlite")
        try FileManager.default.moveItem(at: url, to: folder.file("moved.sqlite"))
        let removed = #expect(throws: ObjectError.self) { try context.save() }
        #expect(removed?.code == .storeRemoved)
        _ = try DatabaseQueue(path: url.path)
        let replaced = #expect(throws: ObjectError.self) { try context.save() }
        #expect(replaced?.code == .storeReplaced)
        #expect(task.title == "b")
    }

    @Test func existingDatabaseIsUsedAsItIs() throws {
        let url: URL = folder.file("music.db")
        let queue = try DatabaseQueue(path: url.path)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
                    CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL,
                      ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId));
                    INSERT INTO Artist VALUES (1, 'AC/DC');
                    INSERT INTO Album VALUES (1, 'Rock', 1);
                    """)
        }
        let schema = {
            try queue.read { try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema") }
        }
        let before = try schema()
        let model = try queue.read { try ManagedObjectModel.reading($0).model }
        let container = PersistentContainer(
            name: "music", model: model, description: StoreDescription(.file(url)))
        try container.load()
        let context = try container.viewContext
        let artist = try context.insert("Artist")
        artist["Name"] = "Kraftwerk"
        let album = try context.insert("Album")
        album["Title"] = "Autobahn"
        album["Artist"] = artist
        let temporary = album.objectID
        #expect(temporary.isTemporary)
        try context.save()
        #expect(album.objectID.description == "Album/2")
        #expect(try context.existingObject(with: temporary) === album)
        #expect((album["Artist"] as? ManagedObject)?["Name"] as? String == "Kraftwerk")
        #expect((artist["Album"] as? [ManagedObject]) == [album])
        let count = try queue.read {
            try Int.fetchOne(
                $0,
                sql:
                    "SELECT count(*) FROM Album JOIN Artist USING(ArtistId) WHERE Name = 'Kraftwerk'"
            )
        }
        #expect(count == 1)
        #expect(try schema() == before)
    }
}
