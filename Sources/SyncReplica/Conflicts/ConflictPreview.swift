import SyncValues

/// What each choice about a conflict would do, found by making it and taking it back.
public enum ConflictPreview: Sendable {
    /// It would be done.
    case outcome(ConflictOutcome)
    /// It would be refused, with the reason and what to do instead.
    case refused(SyncError)
}
