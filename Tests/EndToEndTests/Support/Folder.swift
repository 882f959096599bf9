import Foundation
import Synchronization

/// A temporary folder with everything that a test makes. Short, because socket paths are limited.
final class Folder: Sendable {
    let url: URL
    private let count = Mutex(0)

    init() throws {
        let name = "syncd-e2e-" + String(UInt32.random(in: 0 ... .max), radix: 36)
        url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func nextName(_ program: String) -> String {
        count.withLock { count in
            count += 1
            return "\(count)-\(program)"
        }
    }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
