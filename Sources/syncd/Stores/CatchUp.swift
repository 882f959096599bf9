import NIOPosix
import SyncClient
import SyncCore
import Varlink

/// Brings one subscription from where it is to the live end, by pages of history.
///
/// The page is read and sent without any lock; only the step to `live` is made under the hub's
/// lock, when the subscription has got everything that was distributed: what is committed after
/// that reaches it by ``FanOut/distribute(_:atOnce:)``. A client that does not read stops it
/// (`draining`), and starts it again once it has read.
struct CatchUp: Sendable {
    private static let pageTransactions = 200

    private let hub: StoreHub
    private let subscriber: Subscriber

    init(_ hub: StoreHub, _ subscriber: Subscriber) {
        self.hub = hub
        self.subscriber = subscriber
    }

    /// Runs on the pool. The entry is `catchingUp`.
    func start() {
        hub.environment.pool.submit { poolState in
            if poolState == .active { run() }
        }
    }

    /// A page to read: of which opening of the store, and in which era of its subscriptions.
    private struct Page {
        let store: Store
        let generation: Int
        let era: Int
        var query: HistoryQuery
    }

    private func run() {
        while let page = nextPage() {
            do {
                guard try send(page) else { return }
            } catch {
                // An error of a store that was closed meanwhile says nothing.
                guard hub.isCurrent(page.generation) else { continue }
                let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
                // Another file is at the path, or tables of the store were dropped: the
                // subscription hears of it when the store is open again.
                if error.code == .storeReplaced || error.code == .storeDamaged {
                    return hub.waitForStore(subscriber, page.generation)
                }
                hub.remove(subscriber)
                subscriber.stream.fail(error.varlinkError)
                return
            }
        }
    }

    /// Nil when the entry is live now, or somebody else goes on with it.
    private func nextPage() -> Page? {
        hub.state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return nil }
            let entry = state.fanOut[index]
            guard entry.phase == .catchingUp else { return nil }
            guard case .open(let opened) = state.phase, state.isHeadKnown, let head = state.head
            else {
                state.fanOut[index].phase = .waitingForStore
                return nil
            }
            if entry.position.number >= head.number {
                state.fanOut[index].phase = .live
                return nil
            }
            // Notices about held objects may come from changes that the filter leaves out.
            let needsAll = !entry.held.isEmpty || !subscriber.wantsTransactions
            var query = needsAll ? HistoryQuery() : subscriber.query
            query.after = entry.position
            query.upTo = head
            query.limit = Self.pageTransactions
            return Page(
                store: opened.store, generation: opened.generation, era: state.fanOut.era,
                query: query)
        }
    }

    /// Sends a page; false when the client has to read first, or is gone.
    private func send(_ page: Page) throws -> Bool {
        var count = 0
        var goesOn = true
        try page.store.forEachTransaction(page.query) { transaction in
            count += 1
            goesOn = send(transaction, page.era)
            return goesOn
        }
        if goesOn, count < Self.pageTransactions, let end = page.query.upTo {
            moveOn(to: end, page.era)
        }
        return goesOn
    }

    private func send(_ transaction: Transaction, _ era: Int) -> Bool {
        let reply = hub.state.withLock { state -> EncodedReply? in
            guard let index = state.fanOut.index(subscriber), state.fanOut.era == era else {
                return nil
            }
            state.fanOut[index].hasDrained = false
            return state.fanOut.personal(transaction, index)
        }
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
        moveOn(to: transaction.token, era, told: reply != nil)
        return true
    }

    private func moveOn(to token: Token, _ era: Int, told: Bool = false) {
        hub.state.withLock { state in
            guard let index = state.fanOut.index(subscriber), state.fanOut.era == era else {
                return
            }
            state.fanOut[index].position = token
            if told { state.fanOut[index].toldPosition = token }
        }
    }
}
