import SyncClient
import SyncCore
import SyncMerge
import SyncStorage
import Varlink

/// The subscriptions of one store, and what each of them has got. A value, guarded by its
/// ``HubState``.
///
/// Invariants:
/// - `position` of an entry is the last transaction that its stream took, or that was not for it;
///   it never moves back while the store stays the same.
/// - A `live` entry has been given everything up to the last transaction distributed. Every other
///   entry is given nothing by ``distribute(_:atOnce:)``; a catch-up brings it there (``CatchUp``).
/// - `inside` of an entry lies in the first transaction after `position`: its stream took the parts
///   up to there.
/// - `holders` lists, for each held name, exactly the entries whose `held` has it.
struct FanOut {
    /// How an entry gets its transactions.
    enum Phase {
        /// As they are committed.
        case live
        /// From history, by a catch-up that is under way.
        case catchingUp
        /// From history, once its client has emptied its queue.
        case draining
        /// As `draining`, and its client is to be notified that it lagged.
        case lagging
        /// From history, once the store is open again, or its end is known again.
        case waitingForStore
    }

    struct Entry {
        let subscriber: Subscriber
        fileprivate let group: Int
        fileprivate(set) var phase = Phase.catchingUp
        fileprivate(set) var position: Token
        /// Nil at the beginning of a transaction.
        fileprivate(set) var inside: PartPosition?
        /// Parts of that transaction that were sent: some may have nothing for the client.
        fileprivate(set) var sentParts = 0
        fileprivate(set) var held: Set<ObjectName> = []
        /// The client has emptied its queue since the last reply of a catch-up.
        fileprivate(set) var hasDrained = false
        /// The last position that was sent to the client.
        fileprivate(set) var sentPosition: Token
    }

    private(set) var entries: [Entry] = []
    /// Grows when the store is replaced: what a catch-up read before is of no use any more.
    private(set) var era = 0
    /// Replies about transactions that were sent.
    private(set) var sentCount: Int64 = 0
    /// How often an entry found its client's queue full.
    private(set) var laggedCount: Int64 = 0
    private var holders: [ObjectName: Int] = [:]
    private var groups: [HistoryQuery: Int] = [:]

    /// Nil when there is no such subscription any more; then every change of it does nothing.
    func entry(of subscriber: Subscriber) -> Entry? { index(of: subscriber).map { entries[$0] } }

    private func index(of subscriber: Subscriber) -> Int? {
        entries.firstIndex { $0.subscriber === subscriber }
    }

    /// Adds a subscription that catches up from `position`.
    mutating func add(_ subscriber: Subscriber, at position: Token) {
        // Distinct filters are few; their numbers are kept until there is no subscription left.
        if entries.isEmpty { groups = [:] }
        let group = groups[subscriber.query] ?? groups.count
        groups[subscriber.query] = group
        entries.append(
            Entry(
                subscriber: subscriber, group: group, position: position, sentPosition: position))
    }

    mutating func remove(_ subscriber: Subscriber) {
        guard let index = index(of: subscriber) else { return }
        release(nil, for: subscriber)
        entries.swapAt(index, entries.count - 1)
        entries.removeLast()
    }

    func heldCount(of subscriber: Subscriber) -> Int { entry(of: subscriber)?.held.count ?? 0 }

    mutating func hold(_ names: [ObjectName], for subscriber: Subscriber) {
        guard let index = index(of: subscriber) else { return }
        for name in names where entries[index].held.insert(name).inserted {
            holders[name, default: 0] += 1
        }
    }

    /// - Parameter names: nil: all.
    mutating func release(_ names: [ObjectName]?, for subscriber: Subscriber) {
        guard let index = index(of: subscriber) else { return }
        for name in names ?? Array(entries[index].held) {
            guard entries[index].held.remove(name) != nil, let count = holders[name] else {
                continue
            }
            holders[name] = count > 1 ? count - 1 : nil
        }
    }

    // MARK: Phases and positions

    mutating func setPhase(_ phase: Phase, for subscriber: Subscriber) {
        guard let index = index(of: subscriber) else { return }
        entries[index].phase = phase
    }

    /// Changes the phase of all entries that are in `old`.
    ///
    /// - Returns: the subscribers of these entries.
    mutating func setPhase(_ new: Phase, of old: Phase) -> [Subscriber] {
        var changed: [Subscriber] = []
        for index in entries.indices where entries[index].phase == old {
            entries[index].phase = new
            changed.append(entries[index].subscriber)
        }
        return changed
    }

    mutating func setDrained(_ hasDrained: Bool, for subscriber: Subscriber) {
        guard let index = index(of: subscriber) else { return }
        entries[index].hasDrained = hasDrained
    }

    /// The stream of an entry took everything up to `token`.
    ///
    /// - Parameter isSent: its client was sent the token.
    mutating func advance(_ subscriber: Subscriber, to token: Token, isSent: Bool) {
        guard let index = index(of: subscriber) else { return }
        entries[index].position = token
        entries[index].inside = nil
        entries[index].sentParts = 0
        if isSent { entries[index].sentPosition = token }
    }

    /// The stream of an entry took a transaction, or a part of one.
    ///
    /// - Parameter isSent: there was something for its client.
    mutating func advance(_ subscriber: Subscriber, past transaction: Transaction, isSent: Bool) {
        guard let index = index(of: subscriber) else { return }
        guard let inside = PartPosition(after: transaction) else {
            if isSent { sentCount += 1 }
            return advance(subscriber, to: transaction.token, isSent: isSent)
        }
        entries[index].inside = inside
        if isSent {
            entries[index].sentParts += 1
            sentCount += 1
        }
    }

    /// Another store is at the path: all entries begin at its end.
    mutating func moveAll(to head: Token) {
        era += 1
        for index in entries.indices {
            entries[index].position = head
            entries[index].inside = nil
            entries[index].sentParts = 0
            entries[index].sentPosition = head
        }
    }

    // MARK: Distributing

    /// Gives a whole transaction to all live entries: encoded once for each distinct filter, and
    /// once more for each entry that holds an object in it. An entry whose queue is full lags from
    /// now on.
    ///
    /// - Parameter atOnce: false in a burst: throughput counts then, not the single reply.
    /// - Complexity: O(entries), and O(changes) for each distinct filter.
    mutating func distribute(_ transaction: Transaction, atOnce: Bool) {
        let touchesHeld =
            !holders.isEmpty
            && transaction.changes.contains { holders[ObjectName(foldedNameOf: $0.object)] != nil }
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
                if let reply = self.reply(about: transaction, to: entries[index]) {
                    refused = subscriber.stream.send(reply) == .overBound
                    if !refused {
                        entries[index].sentPosition = transaction.token
                        sentCount += 1
                    }
                }
            } else {
                shared.add(entries[index], at: index)
                continue
            }
            if refused {
                entries[index].phase = .lagging
                laggedCount += 1
            } else {
                entries[index].position = transaction.token
            }
        }
        shared.send(atOnce: atOnce) { index, outcome in
            switch outcome {
            case .sent:
                entries[index].position = transaction.token
                entries[index].sentPosition = transaction.token
                sentCount += 1
            case .filtered: entries[index].position = transaction.token
            case .refused:
                entries[index].phase = .lagging
                laggedCount += 1
            }
        }
    }

    /// The reply to a subscription that catches up; nil when there is nothing for it, or what was
    /// read is of an earlier era.
    mutating func catchUpReply(
        to subscriber: Subscriber, about transaction: Transaction, era: Int
    ) -> EncodedReply? {
        guard self.era == era, let index = index(of: subscriber) else { return nil }
        entries[index].hasDrained = false
        return reply(about: transaction, to: entries[index])
    }

    /// The reply to one entry that holds objects, or wants no transactions; nil when there is
    /// nothing for it.
    private func reply(about transaction: Transaction, to entry: Entry) -> EncodedReply? {
        let subscriber = entry.subscriber
        if subscriber.excludes(transaction) { return nil }
        let notices =
            entry.held.isEmpty
            ? [] : SubscriptionReplies.notices(of: transaction, isHeld: entry.held.contains)
        var shown: Transaction?
        if subscriber.wantsTransactions {
            shown = subscriber.query.filter(transaction)
            if subscriber.heldOnly, var transaction = shown {
                transaction.changes.removeAll {
                    !entry.held.contains(ObjectName(foldedNameOf: $0.object))
                }
                shown = transaction.changes.isEmpty ? nil : transaction
            }
        }
        // The parts that are sent are numbered without gaps, and have an end.
        let sent = entry.sentParts
        guard shown != nil || !notices.isEmpty || transaction.isComplete && sent > 0 else {
            return nil
        }
        if subscriber.wantsTransactions, let part = transaction.part {
            if shown == nil {
                shown = transaction
                shown?.changes = []
            }
            shown?.part =
                sent == 0 && part.isLast
                ? nil : Transaction.Part(index: sent, isLast: part.isLast)
        }
        return SubscriptionReplies.transaction(
            shown, token: transaction.isComplete ? transaction.token : nil, notices: notices)
    }

    /// Sends a reply about the store to all entries, whatever their phase. A client whose queue is
    /// full misses it, and learns the same from what it reads next.
    func broadcast(_ reply: EncodedReply) {
        _ = ReplyStream.broadcast(reply, to: entries.map(\.subscriber.stream))
    }

    /// Sends their position to live entries that got nothing for a while, so that they can resume
    /// there after a purge.
    mutating func sendPositions() {
        for index in entries.indices where entries[index].phase == .live {
            let position = entries[index].position
            guard position.number > entries[index].sentPosition.number else { continue }
            if entries[index].subscriber.stream.send(SubscriptionReplies.position(position))
                == .accepted
            {
                entries[index].sentPosition = position
            }
        }
    }
}

/// One transaction's replies, one for each distinct filter, made when first wanted.
private struct SharedReplies {
    enum Outcome {
        case sent, filtered, refused
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

    mutating func add(_ entry: FanOut.Entry, at index: Int) {
        let group = entry.group
        if !groups[group].isMade {
            groups[group].isMade = true
            groups[group].reply = makeReply(for: entry.subscriber.query)
        }
        groups[group].indices.append(index)
        groups[group].streams.append(entry.subscriber.stream)
    }

    private mutating func makeReply(for query: HistoryQuery) -> EncodedReply? {
        guard let filtered = query.filter(transaction) else { return nil }
        guard filtered.changes.count == transaction.changes.count else {
            return SubscriptionReplies.transaction(filtered, token: transaction.token)
        }
        let reply =
            unfiltered ?? SubscriptionReplies.transaction(transaction, token: transaction.token)
        unfiltered = reply
        return reply
    }

    func send(atOnce: Bool, report: (Int, Outcome) -> Void) {
        for group in groups where group.isMade {
            guard let reply = group.reply else {
                for index in group.indices { report(index, .filtered) }
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
