import SyncClient
import SyncCore

/// What the configuration says of how a store is recorded, and what the file has.
///
/// Of a store that the daemon is to track (`track: true`) it adds what is missing when it opens the
/// file: at the start, and after a reload that changed the entry. It never takes anything away:
/// that would need a new beginning, and delete the history. What differs still is a trouble of the
/// store: it must not look as if it were in force.
extension StoreHub {
    /// Has the file record what its entry asks for, and it lacks. Before it is opened.
    ///
    /// - Returns: why it could not be.
    func adjustToConfiguration() -> SyncError? {
        let entry = entry
        guard entry.track, entry.choosesCapture else { return nil }
        do {
            let store = try Store.open(path, isResolved: true)
            let difference: CaptureDifference
            do {
                difference = try self.difference(of: store, from: entry)
                try store.close()
            } catch {
                try? store.close()
                throw error
            }
            guard difference.isAddable else { return nil }
            try Store.adjust(path, to: entry.captureChoice, adding: difference)
            log.notice("recorded as configured from now on; before: \(entry.text(of: difference))")
            return nil
        } catch let error as SyncError where [.storeDamaged, .notTracked].contains(error.code) {
            // Opening repairs it, or says so.
            return nil
        } catch {
            return SyncError.known(error)
        }
    }

    /// Notes what the open store records otherwise than its entry says.
    ///
    /// - Parameter failure: of ``adjustToConfiguration()``.
    func compareWithConfiguration(_ store: Store, failure: SyncError? = nil) {
        let entry = entry
        guard entry.choosesCapture else { return state.recovered([.configuration]) }
        do {
            let difference = try difference(of: store, from: entry)
            if difference.isEmpty { return state.recovered([.configuration]) }
            troubled(
                .configuration, reason: entry.text(of: difference, failure: failure),
                hint: entry.remedy(for: difference, path: path))
        } catch {
            troubled(.configuration, by: error)
        }
    }

    private func difference(
        of store: Store, from entry: Configuration.StoreEntry
    ) throws -> CaptureDifference {
        try store.difference(from: entry.captureChoice, choosesKept: entry.keepsValues != nil)
    }
}
