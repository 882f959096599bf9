import SyncValues

extension LiveLog {
    /// What a connection that is closed hands over to the next one.
    struct Rest: Sendable {
        let seen: Int64
        let bounded: Int64
        let schema: Int64
        let anchor: HistoryAnchor.Row?
        let journal: BoundaryJournal?
        let unreadable: [Int64: CaptureFinding]
    }

    /// What the next connection goes on from; nil while there is something left to do here or in
    /// the WAL, and in the rollback modes.
    ///
    /// Looks at the store once more: what is committed after that is found by the next connection,
    /// because the WAL, which has no frame now, says where each commit ends.
    /// - Throws: as ``poll(isRepeated:)``.
    func restIfSettled() throws -> Rest? {
        unload(idleFor: .zero)
        guard try pendingBoundaries(isRepeated: true).isEmpty, try !hasWork(),
            walIndex?.header()?.frameCount == 0
        else { return nil }
        return Rest(
            seen: seen, bounded: bounded, schema: schema, anchor: anchor.row, journal: journal,
            unreadable: unreadable)
    }
}
