import SyncCore

/// Leaving a store alone that fails again and again (``StoreTrust``).
extension StoreHub {
    /// Errors that say something of the file. A lock that is taken, a missing file or a missing
    /// permission are nobody's fault, and are over when they are over.
    private static let faults: Set<SyncError.Code> = [
        .corrupt, .notADatabase, .storeDamaged, .badData, .refused, .ioError, .internalFault,
    ]

    /// Work on a store that is not open failed.
    func judgeFailure(
        of work: StoreTrust.Work, with error: SyncError, after duration: Duration
    ) {
        guard Self.faults.contains(error.code) else { return }
        if state.judge({ $0.noteFailure(of: work, after: duration) }) == .began {
            tellQuarantine(of: error)
        }
    }

    /// Work on the open store failed: it is closed if that is too much.
    func failed(
        _ work: StoreTrust.Work, of opened: OpenedStore, with error: SyncError?,
        after duration: Duration = .zero
    ) {
        let error = error ?? SyncError(.internalFault, "the store cannot be worked on", path: path)
        judgeFailure(of: work, with: error, after: duration)
        guard Self.faults.contains(error.code), state.trust.isQuarantined, isCurrent(opened),
            state.beginOpening()
        else { return }
        environment.pool.submit(for: owner) { [self] isActive in
            guard isActive else { return state.abandonOpening() }
            marked {
                if case .closed = closeForReopening() { return }
                _ = state.failOpening(.failed(error), path: path)
            }
        }
    }

    /// Work ended well.
    func succeeded(_ works: StoreTrust.Work...) {
        for work in works where state.judge({ $0.noteSuccess(of: work) }) == .ended {
            environment.marks.forgive(path)
            log.notice("recovered: the store is served again")
        }
    }

    /// Logs, once, that the store is left alone.
    func tellQuarantine(of error: SyncError) {
        let count = state.trust.failureCount
        state.noteError(error.reason)
        log.error(
            """
            left alone after \(count) failures in a row: \(error.reason). It is tried again after \
            pauses of up to \(StoreTrust.quarantineMax.components.seconds / 60) minutes; at once \
            when another file is at the path, and by: synctool track \(path)
            """)
    }

    /// Begins in quarantine if the daemon ended while it was at work on the store, several times in
    /// a row. Before the store is opened.
    func quarantineAfterCrashes() {
        let count = environment.marks.crashes(of: path)
        guard count >= CrashMarks.quarantineMin, state.beginOpening() else { return }
        _ = state.judge { trust in
            trust.noteCrashes(count)
            return nil
        }
        _ = state.leave()
        let error = crashError(count)
        _ = state.failOpening(.failed(error), path: path)
        log.error("left alone: \(error.reason). It is tried again after 10 minutes")
    }

    private func crashError(_ count: Int) -> SyncError {
        SyncError(
            .refused,
            "the daemon ended \(count) times in a row while it was at work on the store", path: path
        )
    }

    /// The store is to be tried without regard to what was before.
    ///
    /// - Parameter isTrusted: the one who asks may risk the daemon: root, or its own user.
    /// - Throws: why it is left alone, when the daemon crashed over it and the caller may not risk
    ///   that again.
    func askForTry(isTrusted: Bool) throws {
        let count = environment.marks.crashes(of: path)
        if count >= CrashMarks.quarantineMin {
            guard isTrusted else { throw explained(crashError(count)) }
            environment.marks.forgive(path)
        }
        _ = state.judge { trust in
            trust.begin()
            return nil
        }
    }

    /// Why the store is not open, and when that is tried again.
    func explained(_ error: SyncError) -> SyncError {
        let trust = state.trust
        guard trust.isQuarantined else { return error }
        var error = error
        let seconds = max(.zero, trust.next - .now).components.seconds + 1
        error.reason +=
            "; the daemon leaves the store alone after \(trust.failureCount) failures in a row, "
            + "and tries again in \(seconds) s"
        let hint = "To have it tried at once: synctool track DB"
        error.hint = error.hint.map { $0 + ". " + hint } ?? hint
        return error
    }
}
