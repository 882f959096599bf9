import SyncReplica

#if canImport(Glibc)
    import Glibc
#endif

/// A database that has the keys of an encrypted remote. They are not encrypted in it: who may read
/// the file can read what the remote hides.
enum KeyFile {
    /// Warns where other users may read a database that got a key. Its permissions are not changed:
    /// others may have to use it.
    ///
    /// - Parameter path: as the user typed it.
    /// - Throws: when the terminal is closed.
    static func warn(about path: String) throws {
        var status = stat()
        guard stat(StorePath.absolute(path), &status) == 0, status.st_mode & 0o044 != 0 else {
            return
        }
        try Terminal.error.line(
            "\(path): the database has a key, and other users may read the file. To keep them out: "
                + "chmod go= \(Shell.quoted(path))*")
    }
}
