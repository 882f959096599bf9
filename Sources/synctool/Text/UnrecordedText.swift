import SyncCore

/// What is said where a change of the schema could not be recorded before for other replicas.
enum UnrecordedText {
    static func line(_ error: SyncError) -> String {
        "what was written before was not recorded for other replicas, and they do not get what the "
            + "change has dropped of it: " + Printable.text(error.reason)
    }
}
