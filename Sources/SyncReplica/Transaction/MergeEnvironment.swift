import SyncCore
import SyncMerge

/// What a merge needs from outside the store.
struct MergeEnvironment: Sendable {
    /// Where the commits end that are still in the log; called inside the write transaction.
    var boundaries: @Sendable () throws -> [Boundary]
    /// The clock: milliseconds since 1970.
    var wall: @Sendable () -> Int64
    /// How far the clock of another replica may be ahead before it is contained.
    var driftMax = HybridClock.driftMax
    /// Whether every step is checked against the whole store: for simulations.
    var isVerifying = false
}
