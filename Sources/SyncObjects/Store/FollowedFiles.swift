import SyncCore
import SyncStorage
import Synchronization

/// How many coordinators of this process have a file open. A single one can attribute every
/// transaction of this process to itself.
final class FollowedFiles: Sendable {
    static let shared = FollowedFiles()

    private let counts = Mutex<[FileIdentity: Int]>([:])

    func add(_ file: FileIdentity?) {
        guard let file else { return }
        counts.withLock { $0[file, default: 0] += 1 }
    }

    func remove(_ file: FileIdentity?) {
        guard let file else { return }
        counts.withLock { counts in
            let left = (counts[file] ?? 1) - 1
            counts[file] = left > 0 ? left : nil
        }
    }

    func isAlone(_ file: FileIdentity?) -> Bool {
        file.map { file in counts.withLock { $0[file] == 1 } } ?? true
    }
}
