import Foundation
import SyncCore

/// The few things that a remote folder needs of the file system, each with an error that names the
/// path.
enum FileAccess {
    /// The names in a folder, sorted; nil when it is not there.
    static func names(in folder: String) -> [String]? {
        try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// The first bytes of a file, at most `limit`, and its whole size; nil when it is not there.
    static func head(of path: String, limit: Int) -> (bytes: [UInt8], size: Int)? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let size = try? handle.seekToEnd(), (try? handle.seek(toOffset: 0)) != nil,
            let bytes = try? handle.read(upToCount: limit)
        else { return nil }
        return ([UInt8](bytes), Int(size))
    }

    /// The bytes of a file.
    /// - Throws: `unreachable` when it is not there, or larger than a batch can be.
    static func read(_ path: String, limit: Int) throws -> [UInt8] {
        guard let (bytes, size) = head(of: path, limit: limit) else {
            throw SyncError(.unreachable, "the file is not there any more", path: path)
        }
        guard size == bytes.count else {
            throw SyncError(.badData, "the file is larger than a batch can be", path: path)
        }
        return bytes
    }

    /// Writes a file so that it is there whole or not at all, also after a power cut: a temporary
    /// file in the same folder, synced, renamed, and the folder synced.
    static func write(
        _ bytes: [UInt8], to path: String, temporaryPrefix: String, mode: mode_t = 0o666
    ) throws {
        let url = URL(filePath: path)
        let folder = url.deletingLastPathComponent().path
        let temporary = folder + "/" + temporaryPrefix + UUID().uuidString
        do {
            try create(temporary, bytes, mode)
            guard rename(temporary, path) == 0 else { throw failure("rename", path) }
            try syncFolder(folder)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Makes a folder whose parent is there.
    static func makeFolder(_ path: String) throws {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        throw failure("make the folder", path)
    }

    /// Removes a file; one that is not there is removed already.
    static func remove(_ path: String) throws {
        if unlink(path) == 0 || errno == ENOENT { return }
        throw failure("remove", path)
    }

    /// Removes the files of a folder whose names begin so and that nobody has written for so long.
    static func removeOld(_ prefix: String, in folder: String, seconds: TimeInterval) {
        for name in names(in: folder) ?? [] where name.hasPrefix(prefix) {
            let path = folder + "/" + name
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            guard let time = attributes?[.modificationDate] as? Date,
                -time.timeIntervalSinceNow > seconds
            else { continue }
            unlink(path)
        }
    }

    private static func create(_ path: String, _ bytes: [UInt8], _ mode: mode_t) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("write", path) }
        defer { close(descriptor) }
        var start = 0
        while start < bytes.count {
            let written = bytes[start...].withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { throw failure("write", path) }
            start += written
        }
        guard fsync(descriptor) == 0 else { throw failure("write", path) }
    }

    private static func syncFolder(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        // Some network file systems refuse to sync a folder: the rename has been done all the same.
        if fsync(descriptor) != 0 && errno != EINVAL { throw failure("sync", path) }
    }

    private static func failure(_ what: String, _ path: String) -> SyncError {
        let number = errno
        let reason = "cannot \(what): \(String(cString: strerror(number)))"
        switch number {
        case ENOSPC, EDQUOT:
            return SyncError(.diskFull, reason, path: path, hint: "Free some space")
        case EACCES, EPERM, EROFS: return SyncError(.notAllowed, reason, path: path)
        default: return SyncError(.unreachable, reason, path: path)
        }
    }
}
