import SyncCore

extension Configuration.StoreEntry {
    /// Which tables to record, and what to keep of them.
    var captureChoice: CaptureChoice {
        CaptureChoice(entities: entities, undo: undo, keepsValues: keepsValues)
    }
}
