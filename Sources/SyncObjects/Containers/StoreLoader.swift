import Foundation
import GRDB
import SyncCore
import SyncStorage

/// Opens the store of a description, and migrates it to a model.
struct StoreLoader {
    let description: StoreDescription
    let model: ManagedObjectModel

    /// - Throws: ``ObjectError`` with the store's path, the cause, and what to do next.
    func load() throws -> StoreCoordinator {
        do {
            return try open()
        } catch var error as ObjectError {
            error.path = error.path ?? description.url?.path
            throw error
        } catch let error as DatabaseError {
            throw ObjectError(
                .cannotOpen, error.message ?? "\(error.resultCode)",
                hint: error.resultCode == .SQLITE_NOTADB
                    ? "Give the path of an unencrypted SQLite 3 database" : nil,
                path: description.url?.path, underlying: error)
        } catch {
            throw ObjectError(
                .cannotOpen, "\(error)", path: description.url?.path, underlying: error)
        }
    }

    private func open() throws -> StoreCoordinator {
        let model = try description.configuration.map(self.model.restricted) ?? self.model
        switch description.kind {
        case .memory:
            return try finish(
                try DatabaseQueue(configuration: configuration), model: model, path: nil)
        case .bundle(let url):
            let queue = try DatabaseQueue(configuration: configuration)
            try StoreFiles.copy(url, into: queue)
            return try finish(queue, model: model, path: nil)
        case .cachedCopy(let source, let cache, let alwaysCopy):
            try StoreFiles.checkBundle(source)
            if alwaysCopy || !FileManager.default.fileExists(atPath: cache.path) {
                try StoreFiles.publish(source, at: cache)
            }
            return try openFile(cache, model: model)
        case .file(let url):
            return try openFile(url, model: model)
        }
    }

    private func openFile(_ url: URL, model: ManagedObjectModel) throws -> StoreCoordinator {
        let isNew = !FileManager.default.fileExists(atPath: url.path)
        if isNew, description.isReadOnly {
            throw ObjectError(
                .missingFile, "there is no such file, and a read-only store cannot be created",
                hint: "Check the path, or set isReadOnly to false", path: url.path)
        }
        if isNew {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        }
        let queue = try DatabaseQueue(path: url.path, configuration: configuration)
        if isNew {
            // WAL mode, in which readers and writers do not wait for each other.
            try queue.writeWithoutTransaction { db in
                _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
            }
        }
        return try finish(queue, model: model, path: url.path)
    }

    private func finish(
        _ queue: DatabaseQueue, model: ManagedObjectModel, path: String?
    ) throws -> StoreCoordinator {
        var uuid: UUID?
        if description.isReadOnly {
            uuid = try queue.read { try StoreMetadata(db: $0).uuid() }
            try checkCompatible(queue, with: model)
        } else {
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF")
                defer { try? db.execute(sql: "PRAGMA foreign_keys = ON") }
                let migrator = SchemaMigrator(
                    model: model, migratesAutomatically: description.migratesAutomatically,
                    stages: description.stages)
                try migrator.run(db)
                let metadata = StoreMetadata(db: db)
                uuid = try metadata.uuid()
                guard uuid == nil, model.tables.contains(where: \.isManaged) else { return }
                let fresh = UUID()
                try metadata.setUUID(fresh)
                uuid = fresh
            }
        }
        if !description.isReadOnly {
            try queue.writeWithoutTransaction { try DerivedAttributes(model: model).follow($0) }
        }
        return try StoreCoordinator(
            model: model, queue: queue, path: path, store: uuid ?? Self.derivedUUID(path),
            isReadOnly: description.isReadOnly)
    }

    private func checkCompatible(_ queue: DatabaseQueue, with model: ManagedObjectModel) throws {
        guard let stored = try queue.read({ try StoreMetadata(db: $0).model() }) else { return }
        guard stored.versionHash == model.versionHash else {
            throw ObjectError(
                .incompatibleModel, "the store was written with another model",
                hint: "Open it once with isReadOnly false, so that it is migrated")
        }
    }

    /// The identity of a store without one of its own: the same for the same file.
    private static func derivedUUID(_ path: String?) -> UUID {
        guard let path, let file = FileIdentity(path: path) else { return UUID() }
        let text = Fingerprint.of("\(file.device):\(file.inode):\(path)")
        let digits = Array(text)
        let part = { (range: Range<Int>) in String(digits[range]) }
        return UUID(
            uuidString: [
                part(0..<8), part(8..<12), part(12..<16), part(16..<20), part(20..<32),
            ].joined(separator: "-")) ?? UUID()
    }

    private var configuration: Configuration {
        var configuration = Configuration()
        configuration.readonly = description.isReadOnly
        configuration.foreignKeysEnabled = true
        let seconds = description.busyTimeout.components
        configuration.busyMode = .timeout(
            Double(seconds.seconds) + Double(seconds.attoseconds) / 1e18)
        configuration.prepareDatabase { SQLFunctions.install($0) }
        return configuration
    }
}
