import SyncClient
import SyncCore
import SyncMerge
import Varlink

/// The subscriptions of one store, and what each of them has got. A value, guarded by its
/// ``StoreHub``.
///
/// Invariants:
/// - `position` of an entry is the last transaction that its stream took, or that was not for it;
///   it never moves back while the store stays the same.
/// - A `live` entry has been given everything up to the last transaction distributed. Every other
///   entry is given nothing by ``distribute(_:atOnce:)``; a catch-up brings it there (``CatchUp``).
/// - `holders` lists, for each held name, exactly the entries whose `held` has it.
struct FanOut {
    /// How an entry gets its transactions.
    enum Phase {
        /// As they are committed.
        case live
        /// From history, by a catch-up that is under way.
        case catchingUp
        /// From history, once its client has read what waits for it.
        case draining
        /// As `draining`, and its client is to be told that it lagged.
        case lagging
        /// From history, once the store is open again, or its end is known again.
        case waitingForStore
    }

    struct Entry {
        let subscriber: Subscriber
        let group: Int
        var phase = Phase.catchingUp
        var position: Token
        var held: Set<HeldName> = []
        /// The client has read what waited since this was last cleared.
        var hasDrained = false
        /// The last position that its client knows.
        var toldPosition: Token
    }

    private(set) var entries: [Entry] = []
    /// Grows when the store is replaced: what a catch-up read before says nothing any more.
    private(set) var era = 0
    private var holders: [HeldName: Int] = [:]
    private var groups: [HistoryQuery: Int] = [:]

    var isEmpty: Bool { entries.isEmpty }

    func index(_ subscriber: Subscriber) -> Int? {
        entries.firstIndex { $0.subscriber === subscriber }
    }

    subscript(_ index: Int) -> Entry {
        get { entries[index] }
        _modify { yield &entries[index] }
    }

    mutating func add(_ subscriber: Subscriber, at position: Token) {
        // Distinct filters are few; their numbers live as long as somebody subscribes at all.
        if entries.isEmpty { groups = [:] }
        let group = groups[subscriber.query] ?? groups.count
        groups[subscriber.query] = group
        entries.append(
            Entry(
                subscriber: subscriber, group: group, position: position, toldPosition: position))
    }

    mutating func remove(_ subscriber: Subscriber) {
        guard let index = index(subscriber) else { return }
        release(nil, at: index)
        entries.swapAt(index, entries.count - 1)
        entries.removeLast()
    }

    mutating func hold(_ names: [HeldName], at index: Int) {
        for name in names where entries[index].held.insert(name).inserted {
            holders[name, default: 0] += 1
        }
    }

    /// - Parameter names: nil: all.
    mutating func release(_ names: [HeldName]?, at index: Int) {
        for name in names ?? Array(entries[index].held) {
            guard entries[index].held.remove(name) != nil, let count = holders[name] else {
                continue
            }
            holders[name] = count > 1 ? count - 1 : nil
        }
    }

    /// Changes the phase of all entries that are in `old`, and says whose that was.
    mutating func setPhase(_ new: Phase, of old: Phase) -> [Subscriber] {
        var changed: [Subscriber] = []
        for index in entries.indices where entries[index].phase == old {
            entries[index].phase = new
            changed.append(entries[index].subscriber)
        }
        return changed
    }

    /// Another store is at the path: everybody begins at its end.
    mutating func moveAll(to head: Token) {
        era += 1
        for index in entries.indices {
            entries[index].position = head
            entries[index].toldPosition = head
        }
    }

    // MARK: Distributing

    /// Gives a transaction to all live entries: encoded once for each distinct filter, and by
    /// itself for those that hold an object in it. Who is too slow to take it lags from now on.
    ///
    /// - Parameter atOnce: false in a burst: throughput counts then, not the single reply.
    /// - Complexity: O(entries), and O(changes) for each distinct filter.
    mutating func distribute(_ transaction: Transaction, atOnce: Bool) {
        let touchesHeld =
            !holders.isEmpty
            && transaction.changes.contains { holders[HeldName($0.object)] != nil }
        var shared = SharedReplies(transaction, groupCount: groups.count)
        for index in entries.indices where entries[index].phase == .live {
            guard transaction.number > entries[index].position.number else { continue }
            let subscriber = entries[index].subscriber
            guard !subscriber.excludes(transaction) else {
                entries[index].position = transaction.token
                continue
            }
            var refused = false
            if subscriber.heldOnly || !subscriber.wantsTransactions
                || touchesHeld && !entries[index].held.isEmpty
            {
                if let reply = personal(transaction, index) {
                    refused = subscriber.stream.send(reply) == .overBound
                    if !refused { entries[index].toldPosition = transaction.token }
                }
            } else {
                shared.add(index, entries[index])
                continue
            }
            if refused {
                entries[index].phase = .lagging
            } else {
                entries[index].position = transaction.token
            }
        }
        shared.send(atOnce: atOnce) { index, outcome in
            switch outcome {
            case .sent:
                entries[index].position = transaction.token
                entries[index].toldPosition = transaction.token
            case .notForIt: entries[index].position = transaction.token
            case .refused: entries[index].phase = .lagging
            }
        }
    }

    /// The reply for one entry that holds objects, or wants no transactions; nil when there is
    /// nothing for it.
    func personal(_ transaction: Transaction, _ index: Int) -> EncodedReply? {
        let entry = entries[index]
        let subscriber = entry.subscriber
        if subscriber.excludes(transaction) { return nil }
        let notices =
            entry.held.isEmpty
            ? [] : SubscriptionReplies.notices(of: transaction, isHeld: entry.held.contains)
        var shown: Transaction?
        if subscriber.wantsTransactions {
            shown = subscriber.query.filter(transaction)
            if subscriber.heldOnly, var transaction = shown {
                transaction.changes.removeAll { !entry.held.contains(HeldName($0.object)) }
                shown = transaction.changes.isEmpty ? nil : transaction
            }
        }
        if shown == nil, notices.isEmpty { return nil }
        return SubscriptionReplies.transaction(
            shown, token: transaction.token, notices: notices)
    }

    /// Gives everybody a reply that is about the store, whatever the phase; who is too slow misses
    /// it, and learns the same from what it reads next.
    func tellAll(_ reply: EncodedReply) {
        _ = ReplyStream.broadcast(reply, to: entries.map(\.subscriber.stream))
    }

    /// Tells live entries for whom there was nothing for a while where they are, so that they can
    /// resume there after a purge.
    mutating func tellPositions() {
        for index in entries.indices where entries[index].phase == .live {
            let position = entries[index].position
            guard position.number > entries[index].toldPosition.number else { continue }
            if entries[index].subscriber.stream.send(SubscriptionReplies.position(position))
                == .accepted
            {
                entries[index].toldPosition = position
            }
        }
    }
}

/// One transaction's replies, one for each distinct filter, made when first wanted.
private struct SharedReplies {
    enum Outcome {
        case sent, notForIt, refused
    }

    private struct Group {
        var isMade = false
        var reply: EncodedReply?
        var indices: [Int] = []
        var streams: [ReplyStream] = []
    }

    private let transaction: Transaction
    private var unfiltered: EncodedReply?
    private var groups: [Group]

    init(_ transaction: Transaction, groupCount: Int) {
        self.transaction = transaction
        groups = Array(repeating: Group(), count: groupCount)
    }

    mutating func add(_ index: Int, _ entry: FanOut.Entry) {
        let group = entry.group
        if !groups[group].isMade {
            groups[group].isMade = true
            groups[group].reply = makeReply(entry.subscriber.query)
        }
        groups[group].indices.append(index)
        groups[group].streams.append(entry.subscriber.stream)
    }

    private mutating func makeReply(_ query: HistoryQuery) -> EncodedReply? {
        guard let filtered = query.filter(transaction) else { return nil }
        guard filtered.changes.count == transaction.changes.count else {
            return SubscriptionReplies.transaction(filtered, token: transaction.token)
        }
        let reply =
            unfiltered ?? SubscriptionReplies.transaction(transaction, token: transaction.token)
        unfiltered = reply
        return reply
    }

    func send(atOnce: Bool, _ report: (Int, Outcome) -> Void) {
        for group in groups where group.isMade {
            guard let reply = group.reply else {
                for index in group.indices { report(index, .notForIt) }
                continue
            }
            let refused = Set(
                ReplyStream.broadcast(reply, to: group.streams, atOnce: atOnce))
            for (index, stream) in zip(group.indices, group.streams) {
                report(index, !refused.isEmpty && refused.contains(stream) ? .refused : .sent)
            }
        }
    }
}
