/// Whose work runs next: jobs that wait, in one queue for each user, and how many of each user run.
/// A value, guarded by its ``WorkPool``.
///
/// Invariants:
/// - Of one user at most ``Shares/ofOther`` jobs run, of the daemon's own ``Shares/ofOwn``.
/// - While a job of a user waits and none of that user runs, ``Shares/allMax`` jobs run: the work
///   of other users alone does not delay the first job of a user.
/// - `turns` lists exactly the users that have waiting jobs, the one whose turn it is first.
/// - The jobs of one user start in the order in which they were added.
struct UserQueues<Job> {
    /// How many jobs run at once. More for one user, and a user with many slow databases takes
    /// memory and processors; fewer, and one slow database delays the others of its owner.
    struct Shares {
        /// Of the daemon's own user.
        var ofOwn = 4
        /// Of each other user.
        var ofOther = 3
        /// Of all users. The upper half is for the first job of a user only.
        var allMax = 64
        /// Calls that may wait for one user; one more is refused.
        var waitingMax = 4096
    }

    /// A job that was taken, and the user to whom it counts.
    struct Turn {
        let id: Int
        let user: UInt32
        let job: Job
    }

    let shares: Shares
    private let own: UInt32
    private var waiting: [UInt32: [(id: Int, job: Job)]] = [:]
    private var turns: [UInt32] = []
    private var running: [UInt32: Int] = [:]
    private(set) var runningCount = 0
    private var nextID = 0

    /// - Parameter own: the daemon's user.
    init(own: UInt32, shares: Shares = Shares()) {
        self.own = own
        self.shares = shares
    }

    /// Adds a job; ``next()`` gives it when it is its turn.
    ///
    /// - Parameter isLimited: it is refused when too much waits for the user.
    /// - Returns: its number, for ``remove(_:of:)``; nil when it is refused.
    mutating func add(_ job: Job, of user: UInt32, isLimited: Bool = false) -> Int? {
        let count = waiting[user]?.count ?? 0
        if isLimited, count >= shares.waitingMax { return nil }
        if count == 0 { turns.append(user) }
        nextID += 1
        waiting[user, default: []].append((nextID, job))
        return nextID
    }

    /// Takes the job that is to start now, if there is one.
    ///
    /// - Complexity: O(users with waiting jobs), and O(n) in the jobs that wait for the user.
    mutating func next() -> Turn? {
        guard let index = turns.firstIndex(where: mayStart) else { return nil }
        let user = turns.remove(at: index)
        guard var queue = waiting[user] else { return nil }
        let (id, job) = queue.removeFirst()
        waiting[user] = queue.isEmpty ? nil : queue
        if !queue.isEmpty { turns.append(user) }
        running[user, default: 0] += 1
        runningCount += 1
        return Turn(id: id, user: user, job: job)
    }

    /// A job that was taken has ended.
    mutating func finish(_ user: UInt32) {
        let left = running[user, default: 1] - 1
        running[user] = left > 0 ? left : nil
        runningCount -= 1
    }

    /// Removes a job that waits.
    ///
    /// - Returns: nil when it was taken before.
    mutating func remove(_ id: Int, of user: UInt32) -> Job? {
        guard var queue = waiting[user], let index = queue.firstIndex(where: { $0.id == id })
        else { return nil }
        let job = queue.remove(at: index).job
        waiting[user] = queue.isEmpty ? nil : queue
        if queue.isEmpty { turns.removeAll { $0 == user } }
        return job
    }

    /// Removes all jobs that wait.
    mutating func removeAll() -> [Job] {
        defer { (waiting, turns) = ([:], []) }
        return turns.flatMap { waiting[$0] ?? [] }.map(\.job)
    }

    private func mayStart(_ user: UInt32) -> Bool {
        let count = running[user] ?? 0
        if count == 0 { return runningCount < shares.allMax }
        return count < (user == own ? shares.ofOwn : shares.ofOther)
            && runningCount < shares.allMax / 2
    }
}
