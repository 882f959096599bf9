import Foundation
import SyncCore

/// The file system operations that a remote folder needs. Each error names the path.
enum FileOperations {
    /// The names in a folder, sorted; nil when the folder does not exist or cannot be read.
    static func names(in folder: String) -> [String]? {
        try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// The first bytes of a file, at most `limit`, and the file's size in bytes; nil when the file
    /// does not exist or cannot be read.
    static func head(of path: String, limit: Int) -> (bytes: [UInt8], size: Int)? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let size = try? handle.seekToEnd(), (try? handle.seek(toOffset: 0)) != nil,
            let bytes = try? handle.read(upToCount: limit)
        else { return nil }
        return ([UInt8](bytes), Int(size))
    }

    /// The bytes of a file.
    /// - Throws: `unreachable` when it does not exist; `badData` when it exceeds `limit`.
    static func read(_ path: String, limit: Int) throws -> [UInt8] {
        guard let (bytes, size) = head(of: path, limit: limit) else {
            throw SyncError(.unreachable, "the file no longer exists", path: path)
        }
        guard size == bytes.count else {
            throw SyncError(.badData, "the file exceeds the maximum size of a batch", path: path)
        }
        return bytes
    }

    /// Writes a file atomically and durably, also across a power cut: a temporary file in the same
    /// folder, fsync, rename, fsync of the folder.
    /// - Throws: `diskFull`, `notAllowed`, `unreachable`.
    static func write(
        _ bytes: [UInt8], to path: String, temporaryPrefix: String, mode: mode_t = 0o666
    ) throws {
        let url = URL(filePath: path)
        let folder = url.deletingLastPathComponent().path
        let temporary = folder + "/" + temporaryPrefix + UUID().uuidString
        do {
            try create(temporary, with: bytes, mode: mode)
            guard rename(temporary, path) == 0 else {
                throw failure(to: "rename the file", at: path)
            }
            try syncFolder(folder)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Creates a folder in an existing folder; one that exists is unchanged.
    /// - Throws: `diskFull`, `notAllowed`, `unreachable`.
    static func makeFolder(_ path: String) throws {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        throw failure(to: "create the folder", at: path)
    }

    /// Removes a file; without the file it does nothing.
    /// - Throws: `notAllowed`, `unreachable`.
    static func remove(_ path: String) throws {
        if unlink(path) == 0 || errno == ENOENT { return }
        throw failure(to: "remove the file", at: path)
    }

    /// Removes the files of a folder whose names begin with `prefix` and that were last written
    /// longer than `age` ago. A file that cannot be removed is left.
    static func removeFiles(withPrefix prefix: String, in folder: String, olderThan age: Duration) {
        for name in names(in: folder) ?? [] where name.hasPrefix(prefix) {
            let path = folder + "/" + name
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            guard let time = attributes?[.modificationDate] as? Date,
                -time.timeIntervalSinceNow > TimeInterval(age.components.seconds)
            else { continue }
            unlink(path)
        }
    }

    private static func create(
        _ path: String, with bytes: [UInt8], mode: mode_t
    ) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure(to: "write the file", at: path) }
        defer { close(descriptor) }
        var start = 0
        while start < bytes.count {
            let written = bytes[start...].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { throw failure(to: "write the file", at: path) }
            start += written
        }
        guard fsync(descriptor) == 0 else { throw failure(to: "write the file", at: path) }
    }

    private static func syncFolder(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(to: "open the folder", at: path) }
        defer { close(descriptor) }
        // Some network file systems refuse fsync on a folder; the rename has been done anyway.
        if fsync(descriptor) != 0 && errno != EINVAL {
            throw failure(to: "sync the folder", at: path)
        }
    }

    /// The error of a failed call, from `errno`.
    private static func failure(to action: String, at path: String) -> SyncError {
        let number = errno
        let reason = "cannot \(action): \(String(cString: strerror(number)))"
        let folder = quoted(URL(filePath: path).deletingLastPathComponent().path)
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
        default:
            return SyncError(
                .unreachable, reason, path: path, hint: "Check the folder: ls -ld \(folder)")
        }
    }

    /// A path as one word of a shell command.
    static func quoted(_ path: String) -> String {
        let isPlain = path.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0)
                || "/._-+:@=,".unicodeScalars.contains($0)
        }
        return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
    }
}
