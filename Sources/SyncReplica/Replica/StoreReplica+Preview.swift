import SyncCore
import SyncMerge
import SyncValues

extension StoreReplica {
    /// What a decision about a conflict would do to the rows. Nothing is changed.
    /// - Parameters:
    ///   - id: ``ConflictRecord/id``, of an open conflict.
    ///   - choice: the decision.
    /// - Returns: what is done, or why it is refused.
    /// - Throws: ``SyncError``: `unknownObject` when there is no such conflict; `invalidArgument`
    ///   as ``resolve(_:keeping:author:)``; `busy`, and SQLite errors.
    /// - Complexity: as ``resolve(_:keeping:author:)``; the write lock is held meanwhile.
    public func preview(
        _ id: Int64, keeping choice: ConflictRecord.Choice
    ) throws -> ConflictPreview {
        do {
            return try run("conflicts") { session in
                try session.transact {
                    let outcome = try ConflictResolution($0).resolve(
                        id, keeping: choice, author: nil)
                    throw TakenBack(outcome: outcome)
                }
            }
        } catch let taken as TakenBack {
            return .outcome(taken.outcome)
        } catch let error as SyncError where error.code == .refused {
            return .refused(error)
        }
    }
}

/// Ends a transaction without an error and without an effect.
private struct TakenBack: Error {
    let outcome: ConflictOutcome
}
