import CLinux
import Foundation
import SyncCore

/// What the daemon asks of its workers, over the socket that each inherits. No client reaches it.
enum WorkerInterface {
    static let name = "org.syncd.Worker"

    static func method(_ name: String) -> String { "\(self.name).\(name)" }

    static let description = """
        # A worker process of syncd, as the daemon that has started it sees it.
        interface org.syncd.Worker

        # Serves the stores of this configuration (JSON), and no others any more. With `retry`,
        # tries those again that could not be opened.
        method Serve(configuration: string, retry: bool) -> ()

        # Answers by way of the event loop and the watch thread.
        method Ping() -> (stores: int, closed: int)

        # Closes all stores.
        method Stop() -> ()

        """
}

/// What a worker is told when it is started, through a pipe that it inherits.
struct WorkerSettings: Sendable, Codable {
    /// The descriptors that a worker inherits.
    static let controlDescriptor: Int32 = 3
    static let passingDescriptor: Int32 = 4
    static let settingsDescriptor: Int32 = 5
    static let descriptors = [controlDescriptor, passingDescriptor, settingsDescriptor]

    /// Whose stores it serves.
    var owner: UInt32
    /// The options of the daemon, without stores.
    var configuration: Configuration

    /// Where it keeps what is its own: what it is at work on, its lock.
    var directory: String { configuration.stateDirectory + "/workers/\(owner)" }

    // MARK: The pipe

    /// A pipe that has these settings in it, for the worker to read to its end.
    ///
    /// - Returns: the end to read from; the caller closes it.
    /// - Throws: `unreachable` when there is none, or not enough room in it: the settings, without
    ///   stores, have some hundred bytes, and a pipe takes 64 kB.
    func pipe() throws -> Int32 {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = [UInt8](try encoder.encode(self))
        var ends: [Int32] = [-1, -1]
        let status = syncd_pipe(&ends)
        guard status == 0 else { throw Self.noPipe(status) }
        defer { close(ends[1]) }
        // The worker does not run yet: nothing must wait for it.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        guard write(ends[1], bytes, bytes.count) == bytes.count else {
            let status = errno
            close(ends[0])
            throw Self.noPipe(status)
        }
        return ends[0]
    }

    /// The settings that the daemon wrote for this process.
    ///
    /// - Throws: the decoder's error.
    static func received() throws -> WorkerSettings {
        let end = FileHandle(fileDescriptor: settingsDescriptor, closeOnDealloc: true)
        return try JSONDecoder().decode(Self.self, from: try end.readToEnd() ?? Data())
    }

    private static func noPipe(_ status: Int32) -> SyncError {
        let text = String(cString: strerror(status))
        return SyncError(.unreachable, "a worker cannot be given its settings: \(text)")
    }
}
