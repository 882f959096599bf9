import NIOCore
import SyncCore
import SyncStorage

/// What other programs did to the schema, and what the daemon does about it.
extension StoreHub {
    /// A table that is gone may be on its way back, and a new one on its way to another's name:
    /// that is how tables are rebuilt, one statement after the other. Nothing is lost meanwhile.
    private static let rebuildTime: TimeAmount = .milliseconds(500)

    /// A program changed tables: triggers are repaired where needed, what was written meanwhile is
    /// recorded, and all subscribers are notified.
    func schemaChanged(in opened: OpenedStore, isSettled: Bool = false) {
        submit { [self] in
            repairing.withLock { _ in
                if isCurrent(opened) { checkSchema(of: opened, isSettled: isSettled) }
            }
        }
    }

    private func checkSchema(of opened: OpenedStore, isSettled: Bool) {
        // Looking takes a lock, too, and in a large schema some time.
        if let delay = state.repairDelay() {
            return repairLater(after: delay, isSettled: isSettled)
        }
        do {
            let findings = try opened.store.verifyCapture()
            if findings.contains(where: \.isOfMigration) {
                state.endRepair()
                return lookAfterMigration()
            }
            if !isSettled, findings.contains(where: \.isHalfOfARebuild) {
                state.endRepair()
                environment.loop.scheduleTask(in: Self.rebuildTime) { [weak self] in
                    self?.schemaChanged(in: opened, isSettled: true)
                }
                return
            }
            try repair(findings, in: opened.store, isWaiting: state.isRepairOverdue)
            state.endRepair()
            state.recovered([.repairing])
            compareWithConfiguration(opened.store)
            let entities = try opened.store.status().entities
            state.broadcast(SubscriptionReplies.notice(.schemaChanged(entities: entities)))
        } catch let error as SyncError where error.code == .storeDamaged {
            state.endRepair()
            repairDroppedTables(of: opened)
        } catch let error as SyncError where error.isTransient {
            if state.isRepairOverdue { troubled(.repairing, by: error) }
            repairLater(after: state.repairBusyDelay(), isSettled: isSettled)
        } catch {
            state.endRepair()
            troubled(.repairing, by: error)
            failed(.repairing, of: opened, with: error as? SyncError)
        }
    }

    /// Looks at the schema again; once, however many changes ask for it meanwhile.
    private func repairLater(after delay: TimeAmount, isSettled: Bool) {
        guard state.scheduleRepair() else { return }
        environment.loop.scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            self.state.repairTimerFired()
            // It may have been opened again since, and then asked in vain for a timer.
            guard let opened = self.state.opened else { return }
            self.schemaChanged(in: opened, isSettled: isSettled)
        }
    }

    /// How soon a migration is looked for that was killed before it made the triggers again.
    private static let migrationPause: TimeAmount = .seconds(1)

    /// The triggers are left alone while a migration runs. No commit tells when it was killed.
    func lookAfterMigration() {
        environment.loop.scheduleTask(in: Self.migrationPause) { [weak self] in
            guard let self, let opened = self.state.opened else { return }
            self.schemaChanged(in: opened, isSettled: true)
        }
    }

    /// A program that drops one table of the store drops the others, too, one statement after the
    /// other; but every writer is refused until the store is repaired.
    private static let droppingTime: TimeAmount = .milliseconds(200)

    /// Tables of the store were dropped: it is opened again soon, which repairs it.
    func repairDroppedTables(of opened: OpenedStore) {
        environment.loop.scheduleTask(in: Self.droppingTime) { [weak self] in
            guard let self, self.isCurrent(opened) else { return }
            self.reopenLater()
        }
    }

    /// Repairs triggers.
    ///
    /// - Parameter isWaiting: waits some seconds for locks.
    /// - Throws: ``SyncError``; `storeDamaged` when tables of the store are missing, `busy`.
    func repair(_ findings: [CaptureFinding], in store: Store, isWaiting: Bool = true) throws {
        guard !findings.isEmpty else { return try store.reloadEntities() }
        if findings.contains(where: \.isOfMigration) { return lookAfterMigration() }
        let report = try store.repairCapture(isWaiting: isWaiting)
        for finding in report.findings { log.notice("schema: \(finding.explanation)") }
        for finding in report.unreadableFindings {
            log.warning("\(finding.explanation). \(CaptureFinding.unreadableHint)")
        }
        logRecovered(report.recoveredCount)
    }

    /// A program that drops tables one by one may go on while the store is repaired.
    private static let repairsMax = 3

    /// Opens the store; where another program dropped tables of it, repairs it first: every writer
    /// is refused until then.
    ///
    /// - Throws: ``SyncError``.
    func openRepaired() throws -> Store {
        for _ in 0..<Self.repairsMax {
            do {
                return try openRecorded()
            } catch let error as SyncError where error.code == .storeDamaged {
                if state.judge({ $0.noteRepair() }) == .began { tellQuarantine(of: error) }
                let report = try Store.mend(path, isResolved: true, isAttended: false)
                for line in report.explanations { log.warning("repaired: \(line)") }
                logRecovered(report.recoveredCount)
            }
        }
        return try openRecorded()
    }

    /// Opens the store; what an earlier daemon told and the file lacks makes it another replica.
    private func openRecorded() throws -> Store {
        try Store.open(path, isResolved: true, journalsIn: environment.stateDirectory)
    }

    /// Says that a repair made this a new store (``RemadeStore``), which is when it is opened, and
    /// that its file has several names.
    func noteOpened(_ store: Store) {
        noteLinks()
        guard let remade = try? store.remade() else { return }
        troubled(.remade, reason: remade.reason, hint: RemadeStore.hint)
    }

    /// Says so no more once somebody has seen it, or added a remote.
    func forgetRemade(_ store: Store) {
        guard state.troubles.contains(where: { $0.work == .remade }), !store.isResting,
            case .success(nil) = Result(catching: store.remade)
        else { return }
        state.recovered([.remade])
    }

    /// Says that the file has several names, as long as it has.
    func noteLinks() {
        let isNoted = state.troubles.contains { $0.work == .links }
        if let problem = HardLinks.problem(with: path) {
            if !isNoted { troubled(.links, by: problem) }
        } else if isNoted {
            state.recovered([.links])
        }
    }

    private func logRecovered(_ count: Int) {
        if count > 0 { log.notice("recorded \(count) changes that were made meanwhile") }
    }

    /// Tracks the database if its configuration says so and it is not tracked.
    ///
    /// - Throws: ``SyncError``.
    func trackIfMissing() throws {
        guard entry.track else { return }
        do {
            try Store.open(path, isResolved: true).close()
        } catch let error as SyncError where error.code == .notTracked {
            _ = try Store.track(path, choosing: entry.captureChoice)
        } catch let error as SyncError where error.code == .storeDamaged {
            // Opening repairs it.
        }
    }
}
