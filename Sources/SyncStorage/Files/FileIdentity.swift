import CLinux
import CSQLite

/// Which file a path names: not its name, and not its content.
///
/// A database that was replaced by rename has the same path and another identity; the open
/// connection goes on with the old file (and in WAL mode writes to a file without a name).
package struct FileIdentity: Sendable, Hashable {
    /// The device that the file is on.
    package let device: UInt64
    /// Its inode there. Numbers of removed files are used again: see `birth`.
    package let inode: UInt64
    /// Nanoseconds since 1970 when the inode was made; 0 where the file system does not say.
    package let birth: Int64

    /// The identity of the file that `path` names now; nil when there is none, or none that can be
    /// seen. Opens nothing.
    package init?(path: String) {
        var file = syncd_file()
        guard syncd_identify(path, &file) == 0 else { return nil }
        self.init(file)
    }

    init(_ file: syncd_file) {
        device = file.device
        inode = file.inode
        birth = file.birth_seconds &* 1_000_000_000 &+ Int64(file.birth_nanoseconds)
    }
}

extension FileIdentity {
    /// The identity of an open descriptor's file.
    package init?(descriptor: Int32) { self.init(path: "/proc/self/fd/\(descriptor)") }

    /// The identity of the file that an SQLite connection has open as its main database: of the
    /// descriptor itself, whatever the path names by now. Nil where SQLite does not say.
    package init?(openedBy connection: OpaquePointer) {
        let descriptor = syncd_sqlite_descriptor(connection)
        guard descriptor >= 0 else { return nil }
        self.init(descriptor: descriptor)
    }

    /// The identity of the file that an SQLite connection writes ahead, as
    /// ``init(openedBy:)``: its -wal, or its -journal. Nil while neither is open.
    package init?(logOpenedBy connection: OpaquePointer) {
        let descriptor = syncd_sqlite_log_descriptor(connection)
        guard descriptor >= 0 else { return nil }
        self.init(descriptor: descriptor)
    }

    /// The identity of the file at an absolute path that has no symbolic link in it; nil where it
    /// has one, or there is no file.
    package init?(unlinkedPath path: String) {
        guard let file = PathWalk.file(at: path) else { return nil }
        self = file
    }
}
