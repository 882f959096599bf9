import Glibc
import SyncClient
import SyncCore
import Synchronization
import Varlink

/// What the process counts about itself and its clients.
final class DaemonMeters: Sendable {
    private let started = Timestamp.now()
    private let dropped = Atomic<Int64>(0)
    private let refused = Atomic<Int64>(0)
    private let server = Mutex<VarlinkServer?>(nil)
    private let failedReload = Mutex<ReloadFailure?>(nil)

    /// Counts the connections of a server from now on.
    func count(connectionsOf server: VarlinkServer) { self.server.withLock { $0 = server } }

    /// A client was disconnected because it broke a limit or the protocol.
    func noteDropped() { dropped.add(1, ordering: .relaxed) }

    /// A client was not accepted.
    func noteRefused() { refused.add(1, ordering: .relaxed) }

    /// The last reload of the configuration; nil: none has failed since one that did not.
    var reloadFailure: ReloadFailure? { failedReload.withLock { $0 } }

    /// The configuration was reloaded, or could not be: why.
    func noteReload(failure: String?) {
        failedReload.withLock { known in
            known = failure.map { ReloadFailure(reason: $0, time: .now()) }
        }
    }

    /// The counts as they are now, of a process without workers.
    var process: DaemonOverview.Process {
        DaemonOverview.Process(
            version: SyncdVersion.current, started: started,
            clients: Int64(server.withLock { $0?.connectionCount ?? 0 }),
            dropped: dropped.load(ordering: .relaxed), refused: refused.load(ordering: .relaxed),
            workers: 0, memoryBytes: Self.memoryBytes)
    }

    /// Resident memory without pages of files (`statm`: resident less shared); 0 where the kernel
    /// does not say.
    private static var memoryBytes: Int64 {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(descriptor, &bytes, bytes.count)
        let fields = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            .split(separator: " ").compactMap { Int64($0) }
        guard fields.count > 2 else { return 0 }
        return (fields[1] - fields[2]) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }
}
