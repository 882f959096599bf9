import SyncClient
import SyncCore
import Varlink

/// Brings one subscription from its position to the end of history, by pages.
///
/// The page is read and sent without any lock; only the step to `live` is made under the hub's
/// lock, when the subscription has got everything that was distributed: what is committed after
/// that reaches it by ``FanOut/distribute(_:atOnce:)``. A client that does not read stops it
/// (`draining`), and starts it again once it has read, if need be inside of a large transaction.
struct CatchUp: Sendable {
    private static let pageTransactions = 200

    private let hub: StoreHub
    private let subscriber: Subscriber

    init(_ subscriber: Subscriber, of hub: StoreHub) {
        self.hub = hub
        self.subscriber = subscriber
    }

    /// Runs in the share of the client's user, who may have any number of subscriptions. The entry
    /// is `catchingUp`.
    func start() {
        hub.submit(for: subscriber.stream.peer.uid) { run() }
    }

    private func run() {
        while let step = hub.state.nextStep(of: subscriber) {
            if hub.dismissIfExcluded(subscriber, from: step.opened) { return }
            do {
                guard try sendPage(from: step) else { return }
            } catch {
                // An error of a store that was closed meanwhile is of no interest.
                guard hub.isCurrent(step.opened) else { continue }
                let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
                // Another file is at the path, or tables of the store were dropped: the
                // subscription is notified of it when the store is open again.
                if error.code == .storeReplaced || error.code == .storeDamaged {
                    return hub.waitForStore(subscriber, after: step.opened)
                }
                hub.remove(subscriber)
                subscriber.stream.fail(error.varlinkError)
                return
            }
        }
    }

    /// Sends a page; false when the client has to read first, or is gone.
    private func sendPage(from step: HubState.CatchUpStep) throws -> Bool {
        let query = query(for: step)
        var count = 0
        var goesOn = true
        try step.opened.store.forEachTransaction(
            matching: query, inParts: .message, from: step.inside
        ) { transaction in
            if transaction.isComplete { count += 1 }
            goesOn = send(transaction, era: step.era)
            return goesOn
        }
        if goesOn, count < Self.pageTransactions {
            hub.state.advance(subscriber, to: step.end, isSent: false, era: step.era)
        }
        return goesOn
    }

    private func query(for step: HubState.CatchUpStep) -> HistoryQuery {
        // Notices about held objects may come from changes that the filter leaves out.
        let needsAll = step.isHolding || !subscriber.wantsTransactions
        var query = needsAll ? HistoryQuery() : subscriber.query
        query.after = step.position
        query.upTo = step.end
        query.limit = Self.pageTransactions
        return query
    }

    private func send(_ transaction: Transaction, era: Int) -> Bool {
        if transaction.part != nil { hub.releaseMemoryLater() }
        let reply = hub.state.reply(to: subscriber, about: transaction, era: era)
        if let reply {
            switch subscriber.stream.send(reply) {
            case .accepted: break
            case .overBound:
                hub.waitForDrain(subscriber)
                return false
            case .closed:
                hub.remove(subscriber)
                return false
            }
        }
        hub.state.advance(subscriber, past: transaction, isSent: reply != nil, era: era)
        return true
    }
}
