import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A file that is replaced in one step: who reads it sees the text of before, or the new one.
///
/// The new file has the owner, group and mode of the one before; the first one has those that the
/// umask leaves. What cannot be given to the group of before is not for another group either.
struct ReplacedFile {
    /// A call of the system failed.
    struct Failure: Error {
        let number: CInt

        var reason: String { String(cString: strerror(number)) }
    }

    let path: String

    /// - Throws: ``Failure``: the file is then as it was.
    func write(_ text: String) throws {
        removeLeftovers()
        // A collector reads what ends as the file does.
        let draft = "\(path).\(getpid())\(Self.draftEnding)"
        unlink(draft)
        // Nobody else opens it before it has the rights of the former file.
        var former = stat()
        let mode: mode_t = lstat(path, &former) == 0 ? 0o600 : 0o666
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure(number: errno) }
        do {
            defer { close(descriptor) }
            try keepOwner(on: descriptor)
            try Self.write(Array(text.utf8), to: descriptor)
            guard fsync(descriptor) == 0 else { throw Failure(number: errno) }
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, path) == 0 else {
            let number = errno
            unlink(draft)
            throw Failure(number: number)
        }
    }

    private static let draftEnding = ".new"
    /// No draft is being written for as long, in seconds.
    private static let draftAgeMax = 3_600

    /// Removes the drafts of commands that were killed.
    private func removeLeftovers() {
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent().path
        let start = file.lastPathComponent + "."
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasPrefix(start), name.hasSuffix(Self.draftEnding),
                Int32(name.dropFirst(start.count).dropLast(Self.draftEnding.count)) != nil
            else { continue }
            let draft = folder + "/" + name
            var status = stat()
            guard lstat(draft, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                status.st_uid == geteuid(), time(nil) - status.st_mtim.tv_sec > Self.draftAgeMax
            else { continue }
            unlink(draft)
        }
    }

    private func keepOwner(on descriptor: CInt) throws {
        var former = stat()
        guard lstat(path, &former) == 0 else { return }
        var mode = former.st_mode & 0o777
        let none = uid_t.max
        if fchown(descriptor, former.st_uid, former.st_gid) != 0,
            fchown(descriptor, none, former.st_gid) != 0
        {
            mode &= 0o707
        }
        guard fchmod(descriptor, mode) == 0 else { throw Failure(number: errno) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: CInt) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(number: errno) }
            rest = rest.dropFirst(count)
        }
    }
}
