import SyncValues

/// What has to hold when a slice of the digest is written: a reader that was told nothing by the
/// daemon must not put together what others were told apart.
protocol DigestGate {
    /// Called inside the write transaction of a slice, before anything is written.
    ///
    /// - Parameters:
    ///   - digested: the seq up to which the history tables were complete.
    ///   - end: the seq that the slice goes up to.
    /// - Returns: whether the boundaries between are those that the slice was put together with.
    /// - Throws: `busy`, to give up.
    func enter(after digested: Int64, upTo end: Int64) throws -> Bool
    /// Called after the transaction, however it ended.
    func leave()
}
