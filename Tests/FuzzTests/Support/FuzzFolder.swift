import Foundation
import SyncTesting

@testable import SyncCore
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// Where the targets keep their files: in memory where the system has such a folder.
enum FuzzFolder {
    static let path: String = {
        let parent = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
        let path = parent + "/syncd-fuzz.\(getpid())"
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: FuzzFolder.path) }
        return path
    }()

    static func file(_ name: String) -> String { path + "/" + name }

    /// Removes a database with what lies beside it.
    static func remove(_ path: String) {
        for ending in ["", "-wal", "-shm", "-journal", ".syncd-clone"] {
            unlink(path + ending)
        }
    }
}

/// A database file that is put back to one state before each input, in place: the same inode, and
/// so the same replica.
final class FuzzFile: @unchecked Sendable {  // one input at a time
    let path: String
    private let content: [UInt8]

    /// Keeps the state that the file has now. No connection has it open.
    init(_ path: String) throws {
        self.path = path
        let connection = try PlainConnection(path)
        try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func restore() throws {
        for ending in ["-wal", "-shm", "-journal"] { unlink(path + ending) }
        try write(content, to: path)
    }
}

/// Writes a file in place.
func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw POSIXError(.EIO) }
    defer { close(descriptor) }
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
        throw POSIXError(.ENOSPC)
    }
}

/// Runs what may refuse, but has to say so as every call of the product does.
/// - Throws: a ``Finding`` for an error that is no ``SyncError``, or says that the product is wrong.
@discardableResult
func refusing<Result>(_ operation: String, _ body: () throws -> Result) throws -> Result? {
    do {
        return try body()
    } catch let finding as Finding {
        throw finding
    } catch let error as SyncError {
        try require(error.code != .internalFault, "\(operation): \(error)")
        return nil
    } catch {
        throw Finding("\(operation) threw \(type(of: error)): \(error)")
    }
}
