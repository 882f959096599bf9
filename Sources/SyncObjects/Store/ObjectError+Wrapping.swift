import SyncCore

extension ObjectError {
    /// An error of another layer as one of this layer.
    init(wrapping error: any Error, path: String) {
        if let error = error as? ObjectError {
            self = error
            return
        }
        let sync = error as? SyncError
        self.init(
            .storeFailure, sync?.reason ?? "\(error)", hint: sync?.hint, path: path,
            underlying: error)
    }
}
