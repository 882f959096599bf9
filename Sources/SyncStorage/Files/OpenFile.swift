import SyncValues
import Synchronization

/// A mark that this process has a database open, for as long as the object lives or until
/// ``close()``.
///
/// SQLite finds a WAL by the path of its database. While connections are open to a file that was
/// moved away or removed, the `-wal` at the path is still theirs, and a connection to the file that
/// has the path now would read it, and write its pages into the wrong file. ``DatabaseOpener``
/// therefore opens no other file at a path that is marked.
package final class OpenFile: Sendable {
    private static let marks = Mutex<ExactMap<[FileIdentity: Int]>>([:])

    private let path: String
    private let file: FileIdentity
    private let isOpen = Mutex(true)

    /// Marks the main database of a connection.
    package init(_ file: FileIdentity, openedBy connection: OpaquePointer) {
        self.file = file
        path = SQLiteFile.path(of: connection)
        Self.marks.withLock { [path] in $0[path, default: [:]][file, default: 0] += 1 }
    }

    deinit { close() }

    /// Takes the mark away: when all connections of its owner are closed.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        Self.marks.withLock { [path, file] marks in
            let rest = (marks[path]?[file] ?? 1) - 1
            marks[path]?[file] = rest > 0 ? rest : nil
            if marks[path]?.isEmpty ?? false { marks[path] = nil }
        }
    }

    /// Whether there are other marks of the same file and path.
    package var hasOthers: Bool {
        let own = isOpen.withLock { $0 ? 1 : 0 }
        return Self.marks.withLock { [path, file] in $0[path]?[file] ?? 0 } > own
    }

    /// Whether this process has another file open as what was at the path of a connection.
    static func isOther(than file: FileIdentity, openedBy connection: OpaquePointer) -> Bool {
        let path = SQLiteFile.path(of: connection)
        return marks.withLock { $0[path]?.keys.contains { $0 != file } ?? false }
    }
}
