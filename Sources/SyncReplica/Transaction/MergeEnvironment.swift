import SyncCore
import SyncMerge

/// What a merge needs from outside the store.
struct MergeEnvironment: Sendable {
    /// Makes what is committed part of history, beside a daemon or where it is much; called before
    /// the write transaction.
    var settle: @Sendable () throws -> Void
    /// Where the commits end that are still in the log; called inside the write transaction.
    /// Throws ``SyncCore/CommitsRanTogether`` when it has to be begun again.
    var boundaries: @Sendable () throws -> [Boundary]
    /// Called after the write transaction.
    var endWriting: @Sendable () -> Void
    /// The clock: milliseconds since 1970.
    var wall: @Sendable () -> Int64
    /// How far the clock of another replica may be ahead before it is contained.
    var driftMax = HybridClock.driftMax
    /// Whether every step is checked against the whole store: for simulations.
    var isVerifying = false
    /// Whether writers may refer to rows that are not there: then it is not checked that what they
    /// write is stated as references.
    var mayDangle = false
    /// Whether everything is computed by regions and views: for tests that compare.
    var isGeneral = false
    /// Whether plain objects are merged by ``FastLane``.
    var usesLane = LaneUse.isFastByDefault
    /// Whether what was written here is stated by ``LocalLane`` where that is possible.
    var usesLocalLane = LaneUse.isLocalByDefault
    /// Whether the rules of the fast lane are applied to each slice, and checked against the
    /// general lane: for simulations.
    var isCheckingLane = false
    /// Changes that the local lane has in memory: some 110 bytes each. With fewer, all changes are
    /// read more often.
    var windowMax = 190_000
    /// Rows in one of the transactions that state what is older than history: a merge has some
    /// 5,000 facts of them in one slice (``MergePace``).
    var olderRowsMax = 1_000
    /// Which transactions that were written here are several for others.
    var partition = PartitionLimits()
    /// Facts in one batch that is sent, unless one transaction has more. With fewer, envelopes take
    /// more of the bytes; with more, decoding takes more memory.
    var batchFactsMax = 100_000
    /// What was done.
    let tally = TallyCounter()
}
