import SyncValues

/// Everything that people stated and nobody overwrote: the state of a replica.
///
/// Invariants
/// - Facts only join: ``insert(_:)-(Fact)`` is commutative, associative and idempotent for any
///   order that inserts a transaction's header before its facts.
/// - A fact is kept while it is *maximal*: no kept fact of the same register had seen it.
/// - `vector` covers exactly the dots in `order`, and what came before each at its replica.
/// - `order` is causal: each dot stands after all that its writer had seen. So any prefix is a cut
///   that can be sent.
/// - The tables are a function of the state alone (``View``), whatever facts it holds.
package struct MergeState: Sendable {
    /// The entities whose objects these are.
    package let schema: MergeSchema
    /// What has been merged.
    package private(set) var vector = VersionVector()
    /// The headers of merged transactions; kept until the transaction is stable.
    package private(set) var headers: [Dot: TransactionHeader] = [:]
    /// Transactions in the order in which they were merged here.
    package private(set) var order: [Dot] = []
    /// What is known of each identity.
    package package(set) var objects: [ObjectUID: ObjectRecord] = [:]
    /// Pairs of identities that are one object, the lesser one first, with the earliest dot.
    package private(set) var aliases: [Alias: Dot] = [:]

    /// Where the state is a region of a larger one: rows at its border, which are shown as they
    /// were stated. Their references to objects outside of the region are known to be fulfilled.
    package var boundaryRows: Set<ObjectUID> = []

    /// Two identities that are one object.
    package struct Alias: Sendable, Hashable, Comparable {
        /// The lesser one.
        package let first: ObjectUID
        /// The greater one.
        package let second: ObjectUID

        package init(_ left: ObjectUID, _ right: ObjectUID) {
            first = min(left, right)
            second = max(left, right)
        }

        package static func < (left: Alias, right: Alias) -> Bool {
            (left.first, left.second) < (right.first, right.second)
        }
    }

    /// Knows nothing.
    package init(schema: MergeSchema) { self.schema = schema }

    /// Goes on from what is stored.
    /// - Parameters:
    ///   - headers: in the order in which they were merged here; at least those that the facts
    ///     have to be compared by.
    ///   - objects: all of them, or a region that is closed.
    package init(
        schema: MergeSchema, vector: VersionVector, headers: [TransactionHeader],
        objects: [ObjectUID: ObjectRecord], aliases: [Alias: Dot]
    ) {
        self.schema = schema
        self.vector = vector
        self.objects = objects
        self.aliases = aliases
        order = headers.map(\.dot)
        self.headers = Dictionary(headers.map { ($0.dot, $0) }) { first, _ in first }
    }

    /// Knows a transaction that was merged before, so that facts can be compared by it.
    package mutating func remember(_ header: TransactionHeader) { headers[header.dot] = header }

    /// Knows an alias that was merged before.
    package mutating func remember(_ alias: Alias, _ dot: Dot) { aliases[alias] = dot }

    /// The identities that are part of an alias. Never given to a new object.
    package var aliased: Set<ObjectUID> {
        Set(aliases.keys.flatMap { [$0.first, $0.second] })
    }

    /// Takes note of a transaction; its facts follow.
    package mutating func insert(_ header: TransactionHeader) {
        guard !vector.covers(header.dot) || headers[header.dot] == nil else { return }
        headers[header.dot] = header
        order.append(header.dot)
        vector.advance(to: header.dot)
    }

    /// Joins one fact. Its transaction's header must be here. An object is of one entity for ever:
    /// what is told of it under another one is no fact.
    package mutating func insert(_ fact: Fact) {
        switch fact {
        case .alias(let left, let right, let dot):
            let pair = Alias(left, right)
            aliases[pair] = min(aliases[pair] ?? dot, dot)
        case .life(let uid, let entity, let life):
            guard (objects[uid]?.entity ?? entity) == entity else { return }
            let headers = headers
            let count = schema.entities[entity].cells.count
            objects[uid, default: ObjectRecord(entity: entity, cellCount: count)]
                .join(life, headers)
        case .cell(let uid, let entity, let cell, let version):
            guard (objects[uid]?.entity ?? entity) == entity else { return }
            let headers = headers
            let count = schema.entities[entity].cells.count
            objects[uid, default: ObjectRecord(entity: entity, cellCount: count)]
                .join(version, cell: cell, headers)
        }
    }
}

extension ObjectRecord {
    fileprivate mutating func join(_ fact: Life, _ headers: [Dot: TransactionHeader]) {
        guard !life.contains(where: { headers.hasSeen($0.dot, fact.dot) }) else { return }
        life.removeAll { headers.hasSeen(fact.dot, $0.dot) }
        if !life.contains(fact) { life.append(fact) }
    }

    fileprivate mutating func join(
        _ version: Version, cell: Int, _ headers: [Dot: TransactionHeader]
    ) {
        guard !cells[cell].contains(where: { headers.hasSeen($0.dot, version.dot) }) else { return }
        cells[cell].removeAll { $0.dot == version.dot || headers.hasSeen(version.dot, $0.dot) }
        cells[cell].append(version)
    }
}

// MARK: Causality

extension MergeState {
    /// Whether the writer of `later` had merged `earlier`. False for a transaction and itself.
    package func hasSeen(_ later: Dot, _ earlier: Dot) -> Bool { headers.hasSeen(later, earlier) }

    /// The time of a merged transaction.
    package func time(_ dot: Dot) -> HybridTime {
        headers[dot]?.time ?? HybridTime(rawValue: 0)
    }

    /// Which of several versions is shown: causality first, then the policy, and where that leaves
    /// several, the clock, the replica and `name`. At least one must be given.
    package func chosen<Item, Name: Comparable>(
        _ items: [Item], _ policy: CellPolicy, dot: (Item) -> Dot, name: (Item) -> Name
    ) -> Item {
        if items.count == 1 { return items[0] }
        guard policy == .firstWriter || policy.preferred != nil else {
            return newest(items, dot: dot, name: name)
        }
        var top = items.filter { item in !items.contains { hasSeen(dot($0), dot(item)) } }
        if policy == .firstWriter {
            return top.dropFirst().reduce(top[0]) { first, item in
                let left = (time(dot(first)), dot(first), name(first))
                return left < (time(dot(item)), dot(item), name(item)) ? first : item
            }
        }
        let preferred = top.filter { dot($0).replica == policy.preferred }
        if !preferred.isEmpty { top = preferred }
        return newest(top, dot: dot, name: name)
    }

    /// The newest of several versions: causality first, then the clock, then the replica, then
    /// `name`. At least one must be given.
    package func newest<Item, Name: Comparable>(
        _ items: [Item], dot: (Item) -> Dot, name: (Item) -> Name
    ) -> Item {
        if items.count == 1 { return items[0] }
        let top = items.filter { item in
            !items.contains { hasSeen(dot($0), dot(item)) }
        }
        var winner = top[0]
        for item in top.dropFirst() {
            let left = (time(dot(winner)), dot(winner), name(winner))
            if left < (time(dot(item)), dot(item), name(item)) { winner = item }
        }
        return winner
    }
}

extension [Dot: TransactionHeader] {
    /// Whether the writer of `later` had merged `earlier`.
    func hasSeen(_ later: Dot, _ earlier: Dot) -> Bool {
        guard later != earlier else { return false }
        if later.replica == earlier.replica { return later.number > earlier.number }
        return self[later]?.seen.covers(earlier) ?? false
    }
}
