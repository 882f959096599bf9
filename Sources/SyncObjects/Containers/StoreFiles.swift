import Foundation
import GRDB

/// Copies SQLite stores, completely or not at all.
enum StoreFiles {
    /// Refuses a bundle without the main file. A missing or empty WAL is no error: everything is in
    /// the main file then.
    static func checkBundle(_ url: URL) throws {
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw ObjectError(
                .missingFile, "the store's file is missing in the bundle",
                hint: "Add the .sqlite file, and its -wal file if that is not empty", path: url.path
            )
        }
    }

    /// Copies a store, including its WAL, into an open connection. The files are copied first,
    /// because a connection to the bundle itself would write files beside it.
    static func copy(_ source: URL, into target: DatabaseQueue) throws {
        try checkBundle(source)
        let folder = try temporaryFolder(near: nil)
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appendingPathComponent("store.sqlite")
        try FileManager.default.copyItem(at: source, to: copy)
        let wal = URL(fileURLWithPath: source.path + "-wal")
        if FileManager.default.fileExists(atPath: wal.path) {
            try FileManager.default.copyItem(
                at: wal, to: URL(fileURLWithPath: copy.path + "-wal"))
        }
        for name in [copy.path, copy.path + "-wal"] {
            chmod(name, 0o600)
        }
        do {
            let queue = try DatabaseQueue(path: copy.path)
            try queue.backup(to: target)
            try queue.close()
        } catch let error as DatabaseError {
            throw ObjectError(
                .cannotOpen, error.message ?? "\(error)", path: source.path, underlying: error)
        }
    }

    /// Puts a copy of `source` at `target` in one step: a program that opens it, also after a
    /// crash, finds either the old store or the new one.
    ///
    /// The copy is made beside it as a single file, with no WAL, and renamed. The WAL of the store
    /// that was there is removed first, once its content is in the main file: left beside another
    /// main file, it would damage it.
    static func publish(_ source: URL, at target: URL) throws {
        let parent = target.deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        let folder = try temporaryFolder(near: parent)
        defer { try? FileManager.default.removeItem(at: folder) }
        let fresh = folder.appendingPathComponent("store.sqlite")
        let queue = try DatabaseQueue(path: fresh.path)
        try copy(source, into: queue)
        try queue.writeWithoutTransaction { db in
            _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
        }
        try queue.close()
        try sync(fresh)
        try retire(target)
        guard rename(fresh.path, target.path) == 0 else {
            throw ObjectError(
                .cannotOpen, String(cString: strerror(errno)), path: target.path)
        }
        try sync(parent)
    }

    /// Overwrites a store by SQLite's backup, which takes the same locks as any writer.
    static func overwrite(_ target: URL, with source: URL?) throws {
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: target.path, configuration: configuration)
            if let source {
                try copy(source, into: queue)
            } else {
                let empty = try DatabaseQueue()
                try empty.writeWithoutTransaction {
                    try $0.execute(sql: "CREATE TABLE x(y); DROP TABLE x")
                }
                try empty.backup(to: queue)
            }
            try queue.close()
        } catch let error as DatabaseError {
            throw ObjectError(
                .cannotOpen, error.message ?? "\(error)", path: target.path, underlying: error)
        }
    }

    /// Checkpoints the WAL of a store into its main file, and removes it.
    private static func retire(_ url: URL) throws {
        guard FileManager.default.fileExists(atPath: url.path) else {
            for suffix in ["-wal", "-shm"] { unlink(url.path + suffix) }
            return
        }
        let queue = try DatabaseQueue(path: url.path)
        let mode = try queue.writeWithoutTransaction { db in
            try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
        }
        try queue.close()
        guard mode?.lowercased() == "delete" else {
            throw ObjectError(
                .cannotOpen, "another process has the cached copy open",
                hint: "Close it, or open the copy with alwaysCopy false", path: url.path)
        }
    }

    private static func temporaryFolder(near parent: URL?) throws -> URL {
        let base = parent ?? FileManager.default.temporaryDirectory
        let folder = base.appendingPathComponent(".syncd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return folder
    }

    private static func sync(_ url: URL) throws {
        let descriptor = open(url.path, O_RDONLY)
        guard descriptor >= 0 else {
            throw ObjectError(.cannotOpen, String(cString: strerror(errno)), path: url.path)
        }
        fsync(descriptor)
        close(descriptor)
    }
}
