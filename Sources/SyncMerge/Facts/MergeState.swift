/// The state of a replica (a CRDT state): every fact that was stated and not overwritten.
///
/// Invariants
/// - Facts only join: ``insert(_:)-(Fact)`` is commutative, associative and idempotent for any
///   order that inserts a transaction's header before its facts.
/// - A fact is kept while it is *maximal*: no kept fact of the same register had seen it.
/// - `vector` covers exactly the dots in `order`, and what came before each at its replica.
/// - `order` is causal: each dot comes after all that its writer had seen. So any prefix is a cut
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
    package var objects: [ObjectUID: ObjectRecord] = [:]
    /// Pairs of identities that are one object, the lesser one first, with the earliest dot.
    package private(set) var aliases: [Alias: Dot] = [:]

    /// Where the state is a region of a larger one: the rows at its border, which are shown as they
    /// were stated. Their references to objects outside of the region are known to be valid.
    package var boundaryRows: Set<ObjectUID> = []

    /// Objects that are not shown because a column needs a value and has a reference that leads to
    /// nothing here, and that no foreign key declares. What the tables hold decides that, so it is
    /// known to a replica and not to a view; it hides no object without such a reference.
    package var withheld: Set<ObjectUID> = []

    /// What the tables showed under another schema; only while the rows are compared and recorded
    /// after a migration.
    package var formerRows: FormerRows?

    /// Two identities that are one object.
    package struct Alias: Sendable, Hashable, Comparable {
        /// The lesser one.
        package let first: ObjectUID
        /// The greater one.
        package let second: ObjectUID

        /// The pair of two identities, in any order.
        package init(_ left: ObjectUID, _ right: ObjectUID) {
            first = min(left, right)
            second = max(left, right)
        }

        package static func < (left: Alias, right: Alias) -> Bool {
            (left.first, left.second) < (right.first, right.second)
        }
    }

    /// An empty state.
    package init(schema: MergeSchema) { self.schema = schema }

    /// Continues from what is stored.
    /// - Parameters:
    ///   - headers: in the order in which they were merged here; at least those that the facts have
    ///     to be compared by.
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

    /// Adds the header of a transaction that was merged before, so that facts can be compared by
    /// it.
    package mutating func remember(_ header: TransactionHeader) { headers[header.dot] = header }

    /// Adds an alias that was merged before.
    package mutating func remember(_ alias: Alias, dot: Dot) { aliases[alias] = dot }

    /// The identities that are part of an alias. Never given to a new object.
    package var aliased: Set<ObjectUID> {
        Set(aliases.keys.flatMap { [$0.first, $0.second] })
    }

    /// Adds a transaction; its facts follow.
    package mutating func insert(_ header: TransactionHeader) {
        guard !vector.covers(header.dot) || headers[header.dot] == nil else { return }
        headers[header.dot] = header
        order.append(header.dot)
        vector.advance(to: header.dot)
    }

    /// Joins one fact. Its transaction's header must be here. An object never changes its entity: a
    /// fact about it under another entity is ignored.
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
                .join(life, headers: headers)
        case .cell(let uid, let entity, let cell, let version):
            guard (objects[uid]?.entity ?? entity) == entity else { return }
            let headers = headers
            let count = schema.entities[entity].cells.count
            objects[uid, default: ObjectRecord(entity: entity, cellCount: count)]
                .join(version, cell: cell, headers: headers)
        }
    }
}

extension ObjectRecord {
    fileprivate mutating func join(_ fact: Life, headers: [Dot: TransactionHeader]) {
        guard !life.contains(where: { headers.isSeen(fact.dot, by: $0.dot) }) else { return }
        life.removeAll { headers.isSeen($0.dot, by: fact.dot) }
        if !life.contains(fact) { life.append(fact) }
    }

    fileprivate mutating func join(
        _ version: Version, cell: Int, headers: [Dot: TransactionHeader]
    ) {
        if version.isPartial || cells[cell].contains(where: \.isPartial) {
            return joinParts(version, cell: cell, headers: headers)
        }
        guard !cells[cell].contains(where: { headers.isSeen(version.dot, by: $0.dot) }) else {
            return
        }
        cells[cell].removeAll {
            if $0.isUnwritten, $0.incarnation > version.incarnation { return false }
            return $0.dot == version.dot || headers.isSeen($0.dot, by: version.dot)
        }
        cells[cell].append(version)
    }

    /// The same, column by column.
    private mutating func joinParts(
        _ version: Version, cell: Int, headers: [Dot: TransactionHeader]
    ) {
        let later = cells[cell].filter { headers.isSeen(version.dot, by: $0.dot) }
        guard var version = version.leavingOut(later) else { return }
        cells[cell] = cells[cell].compactMap { known in
            if known.isUnwritten, known.incarnation > version.incarnation { return known }
            if known.dot == version.dot {
                if known.incarnation == version.incarnation { version = version.joined(known) }
                return nil
            }
            return headers.isSeen(known.dot, by: version.dot) ? known.leavingOut([version]) : known
        }
        cells[cell].append(version)
    }
}

// MARK: Causality

extension MergeState {
    /// Whether the writer of `later` had merged `earlier`. False for a transaction and itself.
    package func isSeen(_ earlier: Dot, by later: Dot) -> Bool {
        headers.isSeen(earlier, by: later)
    }

    /// The time of a merged transaction.
    package func time(_ dot: Dot) -> HybridTime {
        headers[dot]?.time ?? HybridTime(rawValue: 0)
    }

    /// Which of several versions is shown: causality first, then the policy, and where that leaves
    /// several, the clock, the replica and `name`. At least one must be given.
    package func chosen<Item, Name: Comparable>(
        from items: [Item], policy: CellPolicy, dot: (Item) -> Dot, name: (Item) -> Name
    ) -> Item {
        if items.count == 1 { return items[0] }
        guard policy == .firstWriter || policy.preferred != nil else {
            return newest(of: items, dot: dot, name: name)
        }
        var top = items.filter { item in !items.contains { isSeen(dot(item), by: dot($0)) } }
        if policy == .firstWriter {
            return top.dropFirst().reduce(top[0]) { first, item in
                let left = (time(dot(first)), dot(first), name(first))
                return left < (time(dot(item)), dot(item), name(item)) ? first : item
            }
        }
        let preferred = top.filter { dot($0).replica == policy.preferred }
        if !preferred.isEmpty { top = preferred }
        return newest(of: top, dot: dot, name: name)
    }

    /// The newest of several versions: causality first, then the clock, then the replica, then
    /// `name`. At least one must be given.
    package func newest<Item, Name: Comparable>(
        of items: [Item], dot: (Item) -> Dot, name: (Item) -> Name
    ) -> Item {
        if items.count == 1 { return items[0] }
        let top = items.filter { item in
            !items.contains { isSeen(dot(item), by: dot($0)) }
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
    /// Whether the writer of `later` had merged `earlier`; each has seen the defaults that nobody
    /// wrote (``Version/isUnwritten``), also where its header is not kept.
    func isSeen(_ earlier: Dot, by later: Dot) -> Bool {
        guard later != earlier else { return false }
        if earlier.number == 0 { return later.number > 0 }
        if later.replica == earlier.replica { return later.number > earlier.number }
        return self[later]?.seen.covers(earlier) ?? false
    }
}
