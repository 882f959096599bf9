import GRDB
import SyncStorage
import SyncValues

/// How much of a database file is in use.
public struct FileSpace: Sendable, Hashable {
    /// The size of the database in bytes, without its WAL.
    public let bytes: Int64
    /// Bytes of pages that are free: SQLite uses them again, and does not return them.
    public let freeBytes: Int64
    /// Whether a program that reads the database keeps the file as long as it was: it gets shorter
    /// at the first checkpoint after that.
    public var isHeld = false
}

extension Store {
    /// How much of a database file is free; the file need not be tracked.
    /// - Throws: ``SyncError``: `noSuchFile`, `notADatabase`, `busy`, and SQLite errors.
    /// - Complexity: O(1)
    public static func space(of path: String) throws -> FileSpace {
        try explaining("vacuum", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.inDatabase { try space(of: $0) }
        }
    }

    /// Returns the free pages of a database file to the file system, by `VACUUM`. No row changes,
    /// and nothing is recorded.
    /// - Returns: the space that is in use afterwards.
    /// - Throws: ``SyncError``: `busy` while another program writes, and outside of WAL mode while
    ///   one reads; `notAllowed`, and SQLite errors, as where there is no room for a second copy.
    ///   Nothing is changed then.
    /// - Complexity: O(bytes of the database); writers wait meanwhile.
    @discardableResult
    public static func vacuum(_ path: String) throws -> FileSpace {
        try explaining("vacuum", at: path) {
            let queue = try DatabaseOpener.open(path, for: .writing)
            defer { try? queue.close() }
            return try queue.writeWithoutTransaction { db in
                try db.execute(sql: "VACUUM")
                var space = try space(of: db)
                // Until then the file is as long as before, and the WAL holds the new one.
                space.isHeld = (try? db.checkpoint(.truncate)) == nil
                return space
            }
        }
    }

    private static func space(of db: Database) throws -> FileSpace {
        func number(_ pragma: String) throws -> Int64 {
            try Int64.fetchOne(db, sql: "PRAGMA main." + pragma) ?? 0
        }
        let size = try number("page_size")
        return FileSpace(
            bytes: try number("page_count") * size, freeBytes: try number("freelist_count") * size)
    }
}
