import SyncMerge

extension BatchCatalog {
    /// The first batch that is encrypted; nil: there is none.
    package var firstSealed: Item? { items.first { $0.envelope.key != nil } }
}

extension BatchCatalog.Item {
    /// The error for one who would use the remote of an encrypted batch without encryption.
    /// - Parameter action: what is not done: "nothing is sent".
    package func refusal(of action: String, remedy: String) -> SyncError {
        SyncError(
            .refused,
            "the folder has encrypted batches (\(name)), and this remote is not encrypted: "
                + "\(action)",
            hint: remedy)
    }
}
