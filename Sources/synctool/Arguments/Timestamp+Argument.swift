import SyncCore

extension Timestamp {
    /// Reads the value of a date option.
    /// - Throws: `invalidArgument`, with the accepted forms.
    init(option: String, value: String) throws {
        guard let time = Timestamp(value) else {
            throw SyncError(
                .invalidArgument, "\(option): '\(value)' is not a date",
                hint: "Write 2026-01-31 or 2026-01-31T12:00:00Z")
        }
        self = time
    }
}
