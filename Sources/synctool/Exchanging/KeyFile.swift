import ArgumentParser
import SyncReplica

#if canImport(Glibc)
    import Glibc
#endif

/// What a command that adds a key to a database does where other users may read the file.
///
/// Keys are not encrypted in a database: a user who may read the file can read what the encrypted
/// remote hides. So such a file gets a key only on request.
struct KeyFile: ParsableArguments {
    @Flag(help: "Add the key also where other users may read the database, and so the key.")
    var readable = false

    /// Ensures that a database may get a key, before anything is changed.
    ///
    /// - Parameter path: as the user typed it.
    /// - Throws: `refused` where other users may read the file, unless that was asked for.
    func require(_ path: String) throws {
        guard !readable, Self.isReadableByOthers(StorePath.absolute(path)) else { return }
        throw SyncError(
            .refused,
            "other users may read this file, and a key would be in it; nothing was changed",
            path: path,
            hint: "To keep them out: chmod go= \(Shell.quoted(path))*; or, to let them read the "
                + "key, too, add --readable")
    }

    /// Warns where other users may read a database that got a key. Its permissions are not changed:
    /// others may have to use it.
    ///
    /// - Parameter path: as the user typed it.
    /// - Throws: when the terminal is closed.
    static func warn(about path: String) throws {
        guard isReadableByOthers(StorePath.absolute(path)) else { return }
        try Terminal.error.line(
            "\(path): the database has a key, and other users may read the file. To keep them out: "
                + "chmod go= \(Shell.quoted(path))*")
    }

    /// Whether permissions let another user than the owner (and root) reach and read a file.
    ///
    /// Access lists that let in more, and folders that other users may open by another path, are
    /// not seen.
    /// - Complexity: O(depth of the path).
    static func isReadableByOthers(_ file: String) -> Bool {
        let real = realpath(file, nil).map { path in
            defer { free(path) }
            return String(cString: path)
        }
        guard let real, let mode = mode(of: real) else { return false }
        var (group, other) = (mode & 0o044 != 0, mode & 0o004 != 0)
        var folder = Substring(real)
        while group || other, let slash = folder.lastIndex(of: "/") {
            folder = folder[..<slash]
            guard let mode = Self.mode(of: folder.isEmpty ? "/" : String(folder)) else { break }
            group = group && mode & 0o011 != 0
            other = other && mode & 0o001 != 0
        }
        return group || other
    }

    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode : nil
    }
}
