/// How large a transaction may be that a client joins from its parts. A larger one reaches the
/// caller in parts (`Transaction.part`).
///
/// Too small makes callers deal with parts; too large is memory that one commit of another program
/// can take in this process.
public struct JoinLimits: Sendable, Hashable {
    /// Changes; 0: nothing is joined.
    public var changesMax: Int
    /// About how many bytes the changes take as JSON.
    public var bytesMax: Int

    /// Every part reaches the caller as it was sent.
    public static let none = JoinLimits(changesMax: 0, bytesMax: 0)

    /// Makes limits: 100,000 changes and 64 MiB, unless others are given.
    public init(changesMax: Int = 100_000, bytesMax: Int = 64 << 20) {
        self.changesMax = changesMax
        self.bytesMax = bytesMax
    }
}
