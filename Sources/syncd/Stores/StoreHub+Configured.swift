import SyncClient
import SyncCore
import SyncStorage

/// What the configuration says of how a store is recorded, and what the file has.
///
/// Of a store that the daemon is to track (`track: true`) it adds what is missing when it opens the
/// file: at the start, and after a reload that changed the entry. It never takes anything away:
/// that would need a new beginning, and delete the history. What differs still is a trouble of the
/// store: it must not look as if it were in force.
extension StoreHub {
    /// Has the file record what its entry asks for, and it lacks. Before it is opened.
    ///
    /// - Returns: why it does not record all of that.
    func adjustToConfiguration() -> SyncError? {
        let entry = entry
        guard entry.track, entry.choosesCapture else { return nil }
        do {
            let before = try difference(from: entry)
            guard before.isAddable else { return nil }
            let report = try Store.adjust(path, to: entry.captureChoice, adding: before)
            let added = try before.without(difference(from: entry))
            if !added.isEmpty {
                log.notice("recorded as configured from now on; before: \(entry.text(of: added))")
            }
            return Self.refusal(of: before.untracked, in: report)
        } catch let error as SyncError where [.storeDamaged, .notTracked].contains(error.code) {
            // Opening repairs it, or says so.
            return nil
        } catch {
            return SyncError.known(error)
        }
    }

    /// Why tables that were to be tracked cannot be; nil: they are, or are no tables.
    private static func refusal(of names: [String], in report: TrackReport) -> SyncError? {
        let refused = report.leftAlone.filter { refused in
            names.contains { SQLName.isEqual($0, to: refused.table) }
        }.map { "\($0.table.printable(countMax: 60)) cannot be recorded: \($0.reason.explanation)" }
        if refused.isEmpty { return nil }
        return SyncError(
            .cannotTrack, refused.joined(separator: "; "),
            hint: "Leave out of the entry what cannot be recorded")
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
                hint: failure?.code == .cannotTrack
                    ? failure?.hint : entry.remedy(for: difference, path: path))
        } catch {
            troubled(.configuration, by: error)
        }
    }

    /// Of the file as it is, which is not open.
    private func difference(from entry: Configuration.StoreEntry) throws -> CaptureDifference {
        let store = try Store.open(path, isResolved: true)
        defer { try? store.close() }
        return try difference(of: store, from: entry)
    }

    private func difference(
        of store: Store, from entry: Configuration.StoreEntry
    ) throws -> CaptureDifference {
        try store.difference(from: entry.captureChoice, choosesKept: entry.keepsValues != nil)
    }
}
