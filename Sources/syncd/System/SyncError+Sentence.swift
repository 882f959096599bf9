import SyncCore

extension SyncError {
    /// What happened and what to do, without operation and file: for messages that begin with the
    /// path of the store.
    var sentence: String {
        var text = reason
        if let underlying = underlying as? SyncError, underlying.reason != reason {
            text += " (\(underlying.reason))"
        }
        return text + (hint.map { ". \($0)" } ?? "")
    }

    /// The error itself, or one for what is none of ours.
    static func known(_ error: any Error) -> SyncError {
        error as? SyncError ?? SyncError(.internalFault, "\(error)")
    }
}
