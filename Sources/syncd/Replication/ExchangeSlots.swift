import SyncCore

/// Which exchanges may be under way at once, by the owner of the store. A value, guarded by its
/// ``Replicator``.
///
/// An exchange with a folder on a file system that does not answer never ends, and nothing can end
/// it. One that goes on for longer than ``longMin`` therefore does not count to its owner's share
/// any more, up to a limit; and what one owner has under way does not count for the others. With
/// more at once, merges of one user take processors from notices; with fewer, one slow remote
/// delays the others of its owner.
struct ExchangeSlots {
    /// Of the daemon's own user, not counting long ones.
    static let ofOwn = 2
    /// Of each other user.
    static let ofOther = 1
    /// Long ones of one user.
    static let longMax = 4
    /// Of all users. The upper half is for the first exchange of a user only.
    static let allMax = 32
    static let longMin = Duration.seconds(30)

    private struct Exchange {
        let owner: UInt32
        let begun: ContinuousClock.Instant
    }

    private let own: UInt32
    private var exchanges: ExactMap<Exchange> = [:]

    /// - Parameter own: the daemon's user.
    init(own: UInt32) { self.own = own }

    /// Takes a slot for an exchange of the store at `path`.
    ///
    /// - Returns: false when there is none now, or the store has one.
    mutating func take(
        _ path: String, of owner: UInt32, at now: ContinuousClock.Instant
    ) -> Bool {
        guard exchanges[path] == nil else { return false }
        let present = exchanges.values.filter { $0.owner == owner }
        let long = present.count { now - $0.begun >= Self.longMin }
        let share = owner == own ? Self.ofOwn : Self.ofOther
        let isFirst = present.isEmpty && exchanges.count < Self.allMax
        let isInShare =
            present.count - min(long, Self.longMax) < share && exchanges.count < Self.allMax / 2
        guard isFirst || isInShare else { return false }
        exchanges[path] = Exchange(owner: owner, begun: now)
        return true
    }

    /// The exchange of the store ended.
    mutating func free(_ path: String) { exchanges[path] = nil }

    /// When the next exchange becomes a long one; nil: none will.
    func nextLong(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        exchanges.values.map { $0.begun + Self.longMin }.filter { $0 > now }.min()
    }
}
