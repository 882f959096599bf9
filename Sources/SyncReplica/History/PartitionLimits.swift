import SyncMerge

/// Which local transactions are several for other replicas, and how large the parts are.
package struct PartitionLimits: Sendable {
    /// Facts that one commit makes, at most: with more it is taken apart, because a batch would
    /// have no room for it (``BatchLimits/factsMax``). Smaller: commits that could be whole are
    /// seen half merged. Larger: what counts beside the facts makes the batch too large.
    package var factsMax = 3 << 20
    /// Bytes of the values of one commit, as ``factsMax``.
    package var bytesMax = Int64(128 << 20)
    /// Changes in one part: merged as a whole, a large transaction blocks the writers of every
    /// replica for as long as all of it together did.
    package var partChangesMax = 500
    /// Bytes of the values in one part: one change may have more. A batch has room for 64 times as
    /// many (``BatchLimits/contentBytesMax``).
    package var partBytesMax = Int64(4 << 20)
    /// Bytes of one row as facts, at most: larger ones are not sent.
    package var rowBytesMax = BatchLimits.contentBytesMax - (1 << 20)

    package init() {}
}
