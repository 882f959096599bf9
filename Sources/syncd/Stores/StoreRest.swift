/// Whether a store that is not in use rests: no connection has it open, and the watch reports every
/// write. A value, guarded by its ``HubState``.
struct StoreRest: Sendable {
    /// How long a store is not in use before it rests. Shorter, and the first notice after a pause,
    /// which waits some milliseconds for the connection, is not rare; longer, and `PRAGMA
    /// journal_mode = DELETE` of another program is refused for longer after a commit.
    static let idleTime = Duration.seconds(5)
    /// After a rest that was refused, because another program has a transaction open: the attempt
    /// holds the write lock for a moment.
    private static let pause = Duration.seconds(30)

    /// Of the opening that rests; nil: none.
    private(set) var generation: Int?
    /// A thread is about to end the rest.
    var isWaking = false
    private var next: ContinuousClock.Instant?

    /// False when it is too early after a rest that was refused, or a thread is waking the store.
    func mayBegin(at now: ContinuousClock.Instant) -> Bool {
        !isWaking && next.map { $0 <= now } ?? true
    }

    /// - Returns: whether it may.
    mutating func begin(of generation: Int, at now: ContinuousClock.Instant) -> Bool {
        guard mayBegin(at: now) else { return false }
        self.generation = generation
        return true
    }

    mutating func refuse(at now: ContinuousClock.Instant) { next = now + Self.pause }

    /// - Returns: false when another thread is at it.
    mutating func beginWaking() -> Bool {
        defer { isWaking = true }
        return !isWaking
    }

    mutating func end() {
        generation = nil
        isWaking = false
    }
}
