import Foundation
import Synchronization

/// A folder of one test, removed when the test lets go of it.
///
/// All folders of a process lie in one folder of this process, `syncd-test.XXXXXX`, which it keeps
/// locked. The system releases the lock when the process ends, killed or not, and the next process
/// that makes a folder removes what the first one left. Names are short, because the path of a
/// socket has at most 107 bytes.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// Makes an empty folder, which every user may enter.
    /// - Throws: what the system reports when it cannot be made.
    package init() throws {
        path = try ProcessFolder.shared.get().nextPath()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { remove() }

    package var url: URL { URL(fileURLWithPath: path) }

    /// The path of a file in it, which need not exist.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Removes it and everything in it, before the test ends.
    package func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// What the folders of processes are called in the system's folder for temporary files.
    package static let prefix = "syncd-test."

    /// Removes the folders of processes that have ended. Each process does so once, before it makes
    /// its own.
    package static func removeAbandoned(in parent: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = parent + "/" + name
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}

/// The folder that holds all temporary folders of this process.
///
/// It exists and is locked from the first use to the end of the process.
private final class ProcessFolder: Sendable {
    static let shared = Result { try ProcessFolder() }

    private let path: String
    private let count = Atomic<Int>(0)

    private init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        TemporaryFolder.removeAbandoned(in: parent)
        path = try Self.makeLocked(in: parent)
        atexit {
            if case .success(let folder) = ProcessFolder.shared {
                try? FileManager.default.removeItem(atPath: folder.path)
            }
        }
    }

    func nextPath() -> String {
        path + "/\(count.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    /// A new folder. Another process may take it for abandoned before it is locked; then the next
    /// one is made.
    private static func makeLocked(in parent: String) throws -> String {
        for _ in 0..<100 {
            var template = Array("\(parent)/\(TemporaryFolder.prefix)XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw systemError() }
            let path = String(
                decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            // The descriptor stays open: it holds the lock.
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            var status = stat()
            if flock(descriptor, LOCK_EX) == 0, fstat(descriptor, &status) == 0,
                status.st_nlink > 0
            {
                guard chmod(path, 0o755) == 0 else { throw systemError() }
                return path
            }
            close(descriptor)
        }
        throw POSIXError(.EEXIST)
    }

    private static func systemError() -> POSIXError {
        POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
