/// Keeps a connection from harming what others commit after its `-wal` and `-shm` were taken away
/// (``SideFiles``). A value, confined to the connection's queue.
package struct SideFilesGuard: Sendable {
    private let before: SideFiles.Identities
    private var files: SideFiles?

    /// Before a connection to the database at `path` is opened.
    package init(beforeOpening path: String) { before = SideFiles.Identities(ofDatabase: path) }

    /// After each use of the connection: what it has open is known after its first read.
    /// - Complexity: O(1)
    package mutating func noteUse(of connection: OpaquePointer) {
        if files == nil { files = SideFiles(openedBy: connection, before: before) }
    }

    /// Whether others are at the paths than those that the connection has open, or none: it sees
    /// nothing of what others commit, and must not write.
    /// - Complexity: O(1), two system calls.
    package var isForsaken: Bool { files?.areForsaken ?? false }

    /// Before the connection writes.
    /// - Throws: `storeReplaced` when ``isForsaken``.
    package func require(at path: String) throws {
        if isForsaken { throw SideFiles.forsaken(path) }
    }

    /// Before the connection is closed: as the last one it writes the WAL to the database and
    /// removes it, unless it ``isForsaken``.
    package mutating func release(_ connection: OpaquePointer) {
        files?.release(connection)
        files = nil
    }
}
