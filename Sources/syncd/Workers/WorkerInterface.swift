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

/// What a worker is told when it is started.
struct WorkerSettings: Sendable, Codable {
    /// The descriptors that a worker inherits.
    static let controlDescriptor: Int32 = 3
    static let passingDescriptor: Int32 = 4

    /// Whose stores it serves.
    var owner: UInt32
    /// The options of the daemon, without stores.
    var configuration: Configuration

    /// Where it keeps what is its own: what it is at work on, its lock.
    var directory: String { configuration.stateDirectory + "/workers/\(owner)" }
}
