import Glibc
import SyncValues

/// Bytes that are collected in several streams, in any order, and read stream by stream: in memory
/// while they are few, then in a temporary file.
///
/// The file has no name, so that nobody else can open it, and ends with the process that made it,
/// however that ends. It is in the folder that SQLite would choose
/// (https://www.sqlite.org/tempfiles.html, *Temporary File Storage Locations*).
///
/// Invariants
/// - What was appended to a stream is read in the order in which it was appended.
/// - One copy alone is appended to: copies share the file.
package struct ScratchStreams: Sendable {
    /// Bytes in memory, of all streams together. Fewer: more and smaller writes. More: each sender
    /// takes as much.
    package static let memoryMax = 8 << 20

    private struct Extent {
        let offset: Int
        let count: Int
    }

    private struct Stream {
        var extents: [Extent] = []
        /// What follows them.
        var rest: [UInt8] = []
    }

    private var streams: [Stream] = []
    /// The bytes of all streams that are in memory.
    private var restCount = 0
    private var file: ScratchFile?
    private var fileCount = 0
    private let memoryMax: Int

    /// No streams.
    /// - Parameter memoryMax: bytes in memory.
    package init(memoryMax: Int = ScratchStreams.memoryMax) { self.memoryMax = memoryMax }

    /// Appends bytes to a stream; streams begin empty.
    /// - Throws: `diskFull`, `readOnly` when the temporary file cannot be written.
    /// - Complexity: O(bytes)
    package mutating func append(_ bytes: UnsafeRawBufferPointer, to stream: Int) throws {
        while streams.count <= stream { streams.append(Stream()) }
        streams[stream].rest.append(contentsOf: bytes)
        restCount += bytes.count
        if restCount > memoryMax { try spill() }
    }

    private mutating func spill() throws {
        let file = try self.file ?? ScratchFile()
        self.file = file
        for place in streams.indices where !streams[place].rest.isEmpty {
            let count = streams[place].rest.count
            try file.write(streams[place].rest, at: fileCount)
            streams[place].extents.append(Extent(offset: fileCount, count: count))
            streams[place].rest = []
            fileCount += count
        }
        restCount = 0
    }

    /// The bytes of a stream.
    /// - Throws: `readOnly` when the temporary file cannot be read.
    /// - Complexity: O(bytes)
    package func bytes(of stream: Int) throws -> [UInt8] {
        guard streams.indices.contains(stream) else { return [] }
        let (extents, rest) = (streams[stream].extents, streams[stream].rest)
        guard let file, !extents.isEmpty else { return rest }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(extents.reduce(rest.count) { $0 + $1.count })
        for extent in extents { bytes += try file.read(extent.count, at: extent.offset) }
        bytes += rest
        return bytes
    }
}

/// A temporary file without a name.
final class ScratchFile: Sendable {
    private let descriptor: Int32
    private let folder: String

    init() throws {
        var failure: Int32 = ENOENT
        for folder in Self.folders {
            // As SQLite does: a folder that is set and empty is none.
            if folder.isEmpty { continue }
            let descriptor = Self.unnamed(in: folder)
            if descriptor >= 0 {
                self.descriptor = descriptor
                self.folder = folder
                return
            }
            failure = errno
        }
        throw SyncError(
            failure == ENOSPC ? .diskFull : .readOnly,
            "no temporary file can be made: \(String(cString: strerror(failure)))",
            hint: "Set TMPDIR to a folder on a disk with room")
    }

    deinit { close(descriptor) }

    /// - Returns: -1 where none can be made; `errno` says why.
    static func unnamed(in folder: String) -> Int32 {
        // O_TMPFILE is a macro that Swift does not see; fcntl.h: __O_TMPFILE | O_DIRECTORY.
        let flags = 0o20000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC
        let descriptor = open(folder, flags, 0o600)
        if descriptor >= 0 || ![EOPNOTSUPP, EISDIR, EINVAL].contains(errno) { return descriptor }
        return unlinked(in: folder)
    }

    /// For a file system without such files: one that loses its name at once.
    /// - Returns: as ``unnamed(in:)``.
    static func unlinked(in folder: String) -> Int32 {
        var name = Array("\(folder)/syncd-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return descriptor }
        unlink(name)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }

    /// Where SQLite makes its temporary files.
    private static var folders: [String] {
        let chosen = ["SQLITE_TMPDIR", "TMPDIR"].compactMap { (name: String) in
            getenv(name).map { String(cString: $0) }
        }
        return chosen + ["/var/tmp", "/usr/tmp", "/tmp", "."]
    }

    func write(_ bytes: [UInt8], at offset: Int) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(
                    descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, offset + done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw error("written", count < 0 ? errno : ENOSPC) }
            done += count
        }
    }

    func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let part = pread(
                    descriptor, buffer.baseAddress?.advanced(by: initialized), count - initialized,
                    offset + initialized)
                if part < 0, errno == EINTR { continue }
                guard part > 0 else {
                    failure = part < 0 ? errno : EIO
                    return
                }
                initialized += part
            }
        }
        guard failure == 0 else { throw error("read", failure) }
        return bytes
    }

    private func error(_ what: String, _ number: Int32) -> SyncError {
        let isFull = number == ENOSPC || number == EDQUOT
        return SyncError(
            isFull ? .diskFull : .readOnly,
            "the temporary file cannot be \(what): \(String(cString: strerror(number)))",
            path: folder, hint: "Free some space there, or set TMPDIR to a folder on another disk")
    }
}
