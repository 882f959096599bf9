import CLinux
import Foundation
import SyncCore

/// The files of one folder and of its subfolders, named relative to it: `name` or `folder/name`.
/// Each error names the path.
///
/// Others may write the folder, and what is in it is not trusted. Below the folder no symbolic link
/// is followed: it would lead to what this process may read or write and the author of the link may
/// not. Only regular files are read, and nothing waits: opening a pipe would.
///
/// Policy: what is made here has the group of the folder around it, and that group may do with it
/// what it may do with the folder, whatever the umask. The umask of a service (0077) is for its own
/// files; with it the other users of a shared folder could not read what the service puts there.
/// Others than the group get what the umask leaves them.
struct FolderFiles: Sendable {
    /// The folder. Symbolic links on the way to it, and itself, are followed.
    let path: String

    init(_ path: String) { self.path = path }

    // MARK: Reading

    /// The names in the folder or in a subfolder, sorted; nil when it does not exist or cannot be
    /// read.
    func names(in folder: String? = nil) -> [String]? { try? list(folder) }

    /// The same; nil when it does not exist.
    /// - Throws: `notAllowed`, `unreachable` when it cannot be listed, or what is in it cannot be
    ///   opened; `badData` when something else is in its place.
    func list(_ folder: String?) throws -> [String]? {
        let name = folder ?? ""
        guard let descriptor = openFolder(folder) else { return try nothing(at: name) }
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            close(descriptor)
            throw unread(name, for: number)
        }
        defer { closedir(stream) }
        var status = stat()
        // Without search permission the names can be listed, and nothing else.
        guard fstatat(descriptor, ".", &status, 0) == 0 else { return try nothing(at: name) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            let found = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if found != ".", found != ".." { names.append(found) }
            errno = 0
        }
        guard errno == 0 else { return try nothing(at: name) }
        return names.sorted()
    }

    /// The names in the folder itself, sorted.
    /// - Parameter remedy: the next step where it does not exist.
    /// - Throws: `notAllowed` when it may not be read and searched; `unreachable` when it does not
    ///   exist, is no folder, or cannot be read.
    func rootNames(remedy: String) throws -> [String] {
        do {
            if let names = try list(nil) { return names }
        } catch let error as SyncError where error.code == .badData {
            throw SyncError(
                .unreachable, "not a folder", path: path, hint: "Give the path of a folder")
        }
        throw SyncError(.unreachable, "the folder does not exist", path: path, hint: remedy)
    }

    /// The first bytes of a file, at most `limit`, and the file's size in bytes; nil when there is
    /// no regular file of the name, or it cannot be read.
    func head(of name: String, limit: Int) -> (bytes: [UInt8], size: Int)? {
        try? look(at: name, limit: limit)
    }

    /// The same; nil when nothing has the name.
    /// - Throws: `notAllowed`, `unreachable` when it cannot be read; `badData` when it is no
    ///   regular file.
    func look(at name: String, limit: Int) throws -> (bytes: [UInt8], size: Int)? {
        let (folder, last) = Self.parts(of: name)
        guard let directory = openFolder(folder) else { return try nothing(at: folder ?? "") }
        defer { close(directory) }
        let descriptor = openat(
            directory, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return try nothing(at: name) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return try nothing(at: name) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Self.irregular }
        let size = Int(status.st_size)
        guard let bytes = Self.bytes(of: descriptor, count: min(limit, size)) else {
            return try nothing(at: name)
        }
        return (bytes, size)
    }

    /// The first bytes of an open file; nil for an error.
    private static func bytes(of descriptor: Int32, count: Int) -> [UInt8]? {
        var hasFailed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            used = 0
            while used < count, let start = buffer.baseAddress {
                let read = Glibc.read(descriptor, start + used, count - used)
                if read < 0 && errno == EINTR { continue }
                hasFailed = read < 0
                if read <= 0 { break }
                used += read
            }
        }
        return hasFailed ? nil : bytes
    }

    /// The bytes of a file.
    /// - Throws: `unreachable` when there is none; `badData` when it exceeds `limit`; as
    ///   ``look(at:limit:)``.
    func read(_ name: String, limit: Int) throws -> [UInt8] {
        guard let (bytes, size) = try look(at: name, limit: limit) else {
            throw SyncError(.unreachable, "the file no longer exists", path: full(name))
        }
        guard size == bytes.count else {
            throw SyncError(
                .badData, "the file exceeds the maximum size of a batch", path: full(name))
        }
        return bytes
    }

    // MARK: Writing

    /// Writes a file atomically and durably, also across a power cut: a temporary file in the same
    /// folder, fsync, rename, fsync of the folder.
    /// - Throws: `diskFull`, `notAllowed`, `unreachable`.
    func write(
        _ bytes: [UInt8], to name: String, temporaryPrefix: String, mode: mode_t = 0o666
    ) throws {
        let (folder, last) = Self.parts(of: name)
        guard let directory = openFolder(folder) else {
            throw failure(to: "open the folder of the file", at: name)
        }
        defer { close(directory) }
        let temporary = temporaryPrefix + UUID().uuidString
        do {
            try create(temporary, in: directory, with: bytes, mode: mode, for: name)
            guard renameat(directory, temporary, directory, last) == 0 else {
                throw failure(to: "rename the file", at: name)
            }
            // Some network file systems refuse fsync on a folder; the rename has been done anyway.
            if fsync(directory) != 0 && errno != EINVAL {
                throw failure(to: "sync the folder", at: name)
            }
        } catch {
            unlinkat(directory, temporary, 0)
            throw error
        }
    }

    /// Creates a subfolder; one that exists is unchanged.
    /// - Throws: `diskFull`, `notAllowed`, `unreachable`.
    func makeFolder(_ name: String) throws {
        guard let directory = openFolder(nil) else {
            throw failure(to: "open the folder", at: name)
        }
        defer { close(directory) }
        guard mkdirat(directory, name, 0o777) == 0 else {
            if errno == EEXIST { return }
            throw failure(to: "create the folder", at: name)
        }
        guard let made = openFolder(name) else { return }
        defer { close(made) }
        Self.share(made, as: directory, permissions: 0o2070)
    }

    /// Gives what was just made the group of its folder, and of the group's `permissions` those
    /// that the group has on the folder. A file system without them, or a group that the user is
    /// not in, leaves it as it is.
    private static func share(_ made: Int32, as folder: Int32, permissions: mode_t) {
        var around = stat()
        var own = stat()
        guard fstat(folder, &around) == 0, fstat(made, &own) == 0 else { return }
        if own.st_gid != around.st_gid {
            guard fchown(made, uid_t.max, around.st_gid) == 0, fstat(made, &own) == 0 else {
                return
            }
        }
        let mode = own.st_mode & 0o7777
        let wanted = mode | (around.st_mode & permissions)
        if wanted != mode { fchmod(made, wanted) }
    }

    /// Removes a file; without the file it does nothing.
    /// - Throws: `notAllowed`, `unreachable`.
    func remove(_ name: String) throws {
        let (folder, last) = Self.parts(of: name)
        guard let directory = openFolder(folder) else {
            if errno == ENOENT { return }
            throw failure(to: "open the folder of the file", at: name)
        }
        defer { close(directory) }
        if unlinkat(directory, last, 0) == 0 || errno == ENOENT { return }
        throw failure(to: "remove the file", at: name)
    }

    /// Removes the files of a subfolder whose names begin with `prefix` and that were last written
    /// longer than `age` ago. A file that cannot be removed is left.
    func removeFiles(withPrefix prefix: String, in folder: String, olderThan age: Duration) {
        guard let directory = openFolder(folder) else { return }
        defer { close(directory) }
        let oldest = time(nil) - Int(age.components.seconds)
        for name in names(in: folder) ?? [] where name.hasPrefix(prefix) {
            var status = stat()
            guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mtim.tv_sec < oldest
            else { continue }
            unlinkat(directory, name, 0)
        }
    }

    private func create(
        _ temporary: String, in directory: Int32, with bytes: [UInt8], mode: mode_t,
        for name: String
    ) throws {
        let descriptor = openat(
            directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure(to: "write the file", at: name) }
        defer { close(descriptor) }
        Self.share(descriptor, as: directory, permissions: mode & 0o060)
        var start = 0
        while start < bytes.count {
            let written = bytes[start...].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { throw failure(to: "write the file", at: name) }
            start += written
        }
        guard fsync(descriptor) == 0 else { throw failure(to: "write the file", at: name) }
    }

    // MARK: Names

    func full(_ name: String) -> String { name.isEmpty ? path : path + "/" + name }

    private static func parts(of name: String) -> (folder: String?, last: String) {
        guard let slash = name.lastIndex(of: "/") else { return (nil, name) }
        return (String(name[..<slash]), String(name[name.index(after: slash)...]))
    }

    /// A descriptor of the folder, or of a subfolder that is no link; nil, and errno.
    func openFolder(_ folder: String?) -> Int32? {
        let root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return nil }
        guard let folder else { return root }
        let descriptor = openat(
            root, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        let reason = errno
        close(root)
        errno = reason
        return descriptor >= 0 ? descriptor : nil
    }

    /// The error of a failed call, from `errno`.
    private func failure(to action: String, at name: String) -> SyncError {
        let number = errno
        let path = full(name)
        let reason = "cannot \(action): \(String(cString: strerror(number)))"
        let folder = Shell.quoted(URL(filePath: path).deletingLastPathComponent().path)
        switch number {
        case ENOSPC, EDQUOT:
            return SyncError(
                .diskFull, reason, path: path,
                hint: "Free space on this disk, then try again: df -h \(folder)")
        case EACCES, EPERM:
            return SyncError(
                .notAllowed, reason, path: path,
                hint: "Give user id \(geteuid()) write permission on the folder: ls -ld \(folder)")
        case EROFS:
            return SyncError(
                .notAllowed, reason, path: path, hint: "Mount the file system for writing")
        case EISDIR:
            return SyncError(
                .unreachable, "a folder is in the place of a file of the remote", path: path,
                hint: "Look at it, and remove it: rm -r \(Shell.quoted(path))")
        case ELOOP, ENOTDIR:
            return SyncError(
                .notAllowed, "a symbolic link or a file is in the place of a folder of the remote",
                path: path, hint: "Look at it, and remove it: ls -ld \(folder)")
        default:
            return SyncError(
                .unreachable, reason, path: path, hint: "Check the folder: ls -ld \(folder)")
        }
    }
}
