import CLinux
@preconcurrency import Dispatch
import Glibc
import SyncCore

/// Calls back when something arrives in a remote folder, by inotify: its own entries and those of
/// its subfolders, except the one that this replica writes.
///
/// A hint: network file systems give no notice, and subfolders made later are seen after
/// ``renew()``. The interval of the exchanges makes up for both.
final class FolderWatch: Sendable {
    private static let mask = UInt32(IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE)

    private let path: String
    private let ownFolder: String
    private let descriptor: Int32
    private let source: any DispatchSourceRead

    /// Watches nothing before ``renew()``.
    ///
    /// - Throws: `refused` when the user has no inotify instance left.
    init(
        _ path: String, replica: ReplicaID, queue: DispatchQueue,
        onChange: @escaping @Sendable () -> Void
    ) throws {
        self.path = path
        ownFolder = replica.description
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else {
            throw SyncError(.refused, "inotify: \(String(cString: strerror(errno)))")
        }
        self.descriptor = descriptor
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while read(descriptor, &buffer, buffer.count) > 0 {}
            onChange()
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
    }

    deinit { source.cancel() }

    /// Renews watches outside of any actor: a file system may not answer.
    static func renew(_ watches: [FolderWatch]) async { for watch in watches { watch.renew() } }

    /// Watches the folder and the subfolders that exist now. Blocks.
    private func renew() {
        _ = inotify_add_watch(descriptor, path, Self.mask)
        guard let folder = opendir(path) else { return }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard ReplicaID(name) != nil, name != ownFolder else { continue }
            _ = inotify_add_watch(descriptor, path + "/" + name, Self.mask)
        }
    }
}
