import Glibc
import SyncValues

/// The file of a database that is being made, under the temporary name that it has until it is
/// complete, with the files that SQLite makes beside it.
///
/// Others may write the folder (`/tmp`): a file of the name is used or removed only where this user
/// made it and nobody else can have written it. What SQLite finds beside a database it takes for
/// its own, so that the same holds for `-wal`, `-shm` and `-journal`.
package struct DraftFile {
    private static let endings = ["-wal", "-shm", "-journal"]

    /// Its temporary name.
    package let path: String

    /// Names a draft.
    package init(_ path: String) { self.path = path }

    /// Whether there is one, made by this user.
    /// - Throws: `refused` when something else has its name, or that of a file beside it.
    package func isPresent() throws -> Bool {
        for ending in Self.endings { _ = try Self.isOwn(path + ending) }
        return try Self.isOwn(path)
    }

    /// Removes it, and the files beside it; without any it does nothing.
    /// - Throws: `refused` as ``isPresent()``: then nothing is removed; `readOnly`.
    package func remove() throws {
        _ = try isPresent()
        for name in [path] + Self.endings.map({ path + $0 }) where unlink(name) != 0 {
            guard errno == ENOENT else {
                throw SyncError(
                    .readOnly, "cannot remove it: \(String(cString: strerror(errno)))", path: name,
                    hint: "Check the folder: ls -ld \(PathResolution.directory(of: name))")
            }
        }
    }

    /// The names of its files that are there, whatever they are.
    package var remains: [String] {
        ([path] + Self.endings.map { path + $0 }).filter { name in
            var status = stat()
            return lstat(name, &status) == 0
        }
    }

    /// Gives it the permissions of a new database, which the umask leaves to other users.
    /// - Throws: `refused` as ``isPresent()``; `readOnly`.
    package func share() throws {
        let descriptor = try Self.open(path)
        guard let descriptor else { return }
        defer { close(descriptor) }
        let mask = umask(0o077)
        umask(mask)
        guard fchmod(descriptor, 0o666 & ~mask) == 0 else {
            throw SyncError(
                .readOnly, "cannot set its mode: \(String(cString: strerror(errno)))", path: path)
        }
    }

    private static func isOwn(_ path: String) throws -> Bool {
        guard let descriptor = try open(path) else { return false }
        close(descriptor)
        return true
    }

    /// - Returns: nil: there is no file of the name.
    private static func open(_ path: String) throws -> Int32? {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = Glibc.open(path, flags)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw isForeign(
                path, errno == ELOOP ? "a symbolic link" : String(cString: strerror(errno)))
        }
        var status = stat()
        let fault: String? =
            fstat(descriptor, &status) != 0
            ? String(cString: strerror(errno)) : fault(of: status)
        guard let fault else { return descriptor }
        close(descriptor)
        throw isForeign(path, fault)
    }

    private static func fault(of status: stat) -> String? {
        if status.st_mode & S_IFMT != S_IFREG { return "not a regular file" }
        if status.st_uid != geteuid() {
            return "it belongs to user id \(status.st_uid), and this is user id \(geteuid())"
        }
        if status.st_mode & 0o022 != 0 {
            return "other users may write it (mode \(String(status.st_mode & 0o7777, radix: 8)))"
        }
        return status.st_nlink == 1 ? nil : "it has other names (hard links)"
    }

    private static func isForeign(_ path: String, _ fault: String) -> SyncError {
        SyncError(
            .refused,
            "a temporary file has to have this name, and what has it was not made for that: "
                + "\(fault). It was not touched",
            path: path,
            hint: "Look at it: ls -l \(Shell.quoted(path)); then remove it, or use a folder that "
                + "other users cannot write")
    }
}
