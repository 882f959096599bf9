/// The worker processes that serve the stores of other users: the configuration's `workers`.
struct WorkerOptions: Sendable, Equatable, Codable {
    /// Whether there are any; if not, the daemon's own process serves all stores.
    var isEnabled = true
    /// What a worker may write to at most (RLIMIT_DATA): its heap and the stacks of its threads,
    /// not the databases that it maps. Less, and the merge of a large store ends it; more, and a
    /// store that is made for it takes more of the machine.
    var memoryBytes: Int64 = 1_000_000_000
    static let memoryBytesMin: Int64 = 256_000_000
    /// A worker that does not answer for so long is ended, and another one started. Shorter, and a
    /// slow machine ends workers that do nothing wrong; longer, and the stores of the owner wait.
    var answerSeconds = 15
}
