import SyncValues

/// A causal cut of a store's changes between two version vectors: the unit of push, pull, clone,
/// export and snapshot. As bytes: docs/batch-format.md.
package struct Batch: Sendable {
    /// The store that it belongs to.
    package var store: StoreID
    /// The replica that made it.
    package var sender: ReplicaID
    /// What a receiver must have merged before the batch.
    package var from: VersionVector
    /// What the receiver has merged after the batch.
    package var upTo: VersionVector
    /// The entities that facts and changes name by position.
    package var entities: [Entity]
    /// In an order in which each follows what its writer had seen.
    package var transactions: [Transaction]
    /// The facts of these transactions that have not been overwritten. The order has no meaning.
    ///
    /// Of a decoded batch they are made each time from its columns (``arriving``).
    /// - Complexity: O(facts) for a decoded batch.
    package var facts: [Fact] {
        get { arriving?.facts(in: arrivingRange) ?? listed }
        set {
            if let arriving { extras.nameNumbers(of: arriving.objects) }
            (listed, arriving) = (newValue, nil)
        }
    }
    private var listed: [Fact]
    /// The facts in columns, of a batch that was decoded or made of columns, those of other parts
    /// with them; nil: it was made of facts, or these were replaced.
    package private(set) var arriving: ArrivingFacts?
    /// Which transactions of ``arriving`` are those of the batch.
    package private(set) var arrivingRange = 0..<0
    /// The cut that every replica has merged, as far as the sender knows, and up to which the
    /// sender has dropped what is no longer needed; empty: it has dropped nothing.
    package var collected = VersionVector()
    /// Whether transactions up to ``collected`` of which nothing is left are missing, though `upTo`
    /// covers them: a snapshot of a store that has collected.
    package var hasGaps = false
    /// What a new replica starts with, and hints for a receiver; not part of the facts.
    package var extras = Extras()
    /// What the sender calls entities and columns that have another name than their identity. Of
    /// version 1 only a batch that a new replica begins with has them.
    package var names: [EntityNames] = []
    /// The vector that the sender's whole extraction leads to; nil: that of this batch, its last
    /// one. Signed batches alone have it, and the two that follow. A batch that is not the last one
    /// lacks facts that a later one overwrites.
    package var goal: VersionVector?
    /// Sums over what the sender holds.
    package var sums: BatchSums?
    /// What proves who wrote the transactions; with the sender's own proof the batch is signed.
    package var proofs: [ReplicaID: SignerProof] = [:]
    /// Names that replicas gave themselves; signed batches alone have them.
    package var replicaNames: [ReplicaID: SignedName] = [:]
    /// What members have decided about members, by subject; of signed batches alone.
    package var decisions: [MemberDecision] = []
    /// Whether it is a slice of a batch that begins with nothing merged, or such a batch: what it
    /// covers and does not have is not held by its sender.
    package var isSnapshot = false
    /// The schemas that replicas stated with transactions of the batch; in a snapshot, all known
    /// ones. Signed batches alone have them.
    package var schemas: [SchemaRecord] = []

    /// Makes a batch of its parts.
    package init(
        store: StoreID, sender: ReplicaID, from: VersionVector, upTo: VersionVector,
        entities: [Entity], transactions: [Transaction], facts: [Fact]
    ) {
        self.store = store
        self.sender = sender
        self.from = from
        self.upTo = upTo
        self.entities = entities
        self.transactions = transactions
        listed = facts
    }

    /// Makes a batch of its parts, with its facts as columns.
    package init(
        store: StoreID, sender: ReplicaID, from: VersionVector, upTo: VersionVector,
        entities: [Entity], transactions: [Transaction], arriving: ArrivingFacts
    ) {
        self.init(
            store: store, sender: sender, from: from, upTo: upTo, entities: entities,
            transactions: transactions, facts: [])
        self.arriving = arriving
        arrivingRange = transactions.indices
    }

    /// The same batch with other transactions and facts.
    package func with(_ transactions: [Transaction], arriving: ArrivingFacts) -> Batch {
        var batch = self
        batch.transactions = transactions
        batch.listed = []
        batch.arriving = arriving
        batch.arrivingRange = transactions.indices
        return batch
    }

    /// How many facts it has.
    package var factCount: Int { arriving?.count(in: arrivingRange) ?? listed.count }

    /// A batch of columns with some of its transactions and their facts alone, else the same.
    /// - Parameter range: positions in ``transactions``.
    /// - Complexity: O(transactions in the range)
    package func part(_ range: Range<Int>) -> Batch {
        precondition(arriving != nil, "a batch that was made of facts is not divided")
        var part = self
        part.transactions = Array(transactions[range])
        let start = arrivingRange.lowerBound
        part.arrivingRange = start + range.lowerBound..<start + range.upperBound
        return part
    }
}

extension Batch {
    /// What is sent beside the facts.
    package struct Extras: Sendable, Hashable {
        /// The CREATE statements of the tracked tables and their indexes, in the order in which
        /// they can be run; in a snapshot, and where the sender's schema has changed.
        package var schema: [String] = []
        /// The merge policies as JSON; empty: the defaults.
        package var policies = ""
        /// The private numbers that objects have at the sender: a receiver assigns the same where
        /// they are free.
        package var numbers: [ObjectUID: Int64] = [:]
        /// The same by position among the objects of the columns, of a batch that was made to be
        /// sent; then ``numbers`` is empty. Empty: there are none.
        package var columnNumbers: [Int64?] = []

        /// No extras.
        package init() {}

        /// Replaces numbers by position by the same by identity.
        /// - Parameter objects: those of the columns.
        fileprivate mutating func nameNumbers(of objects: [ObjectUID]) {
            for (object, number) in zip(objects, columnNumbers) {
                if let number { numbers[object] = number }
            }
            columnNumbers = []
        }

        /// Whether there is nothing to send.
        package var isEmpty: Bool {
            schema.isEmpty && policies.isEmpty && numbers.isEmpty && columnNumbers.isEmpty
        }
    }

    /// An entity as its sender has it: cells and columns by identity, so that a receiver with
    /// another schema, or other names, can map them to its own.
    package struct Entity: Sendable, Hashable {
        /// The identity (``SchemaIdentity``): the table's first name.
        package var name: String
        /// Whether the key is a number that does not identify: a private or a shared one.
        package var isPrivate: Bool
        /// Whether the key is a shared number.
        package var sharesNumbers: Bool
        /// The identities of the columns of each cell.
        package var cells: [[String]]

        /// Describes an entity.
        package init(
            name: String, isPrivate: Bool, sharesNumbers: Bool = false, cells: [[String]]
        ) {
            self.name = name
            self.isPrivate = isPrivate
            self.sharesNumbers = sharesNumbers
            self.cells = cells
        }

        /// Whether the key is a private number.
        package var hasPrivateNumbers: Bool { isPrivate && !sharesNumbers }

        /// Whether rows are identified in the same way. Where they are not, the facts of one
        /// cannot be shown by the other: two replicas made tables of one name with other keys.
        package func identifiesRows(as ours: MergeEntity) -> Bool { isPrivate == ours.isPrivate }
    }

    /// Whether an entity has shared numbers: a reader that does not know them refuses the batch.
    package var sharesNumbers: Bool { entities.contains(where: \.sharesNumbers) }

    /// A transaction, with its entry in history.
    package struct Transaction: Sendable, Hashable {
        /// Name, time, and what its writer had merged.
        package var header: TransactionHeader
        /// The author that the writer named.
        package var author: String?
        /// The context that the writer named.
        package var context: String?
        /// The name of the writing process.
        package var process: String?
        /// The id of the writing process.
        package var pid: Int64?
        /// The flags of `syncd_transaction` (docs/store-format.md).
        package var flags: UInt64
        /// What it changed.
        package var changes: [Change]

        /// Describes a transaction.
        package init(
            _ header: TransactionHeader, author: String? = nil, context: String? = nil,
            process: String? = nil, pid: Int64? = nil, flags: UInt64 = 0, changes: [Change] = []
        ) {
            self.header = header
            self.author = author
            self.context = context
            self.process = process
            self.pid = pid
            self.flags = flags
            self.changes = changes
        }
    }

    /// What a transaction did to one object.
    package struct Change: Sendable, Hashable {
        /// What was done.
        package typealias Kind = ChangeKind

        /// The object.
        package var object: ObjectUID
        /// Position of its entity in the batch.
        package var entity: Int
        /// What was done.
        package var kind: Kind
        /// The cells that were written, ascending; empty for inserts and deletes: all of them.
        package var cells: [Int]

        /// Describes a change.
        package init(_ object: ObjectUID, entity: Int, kind: Kind, cells: [Int] = []) {
            self.object = object
            self.entity = entity
            self.kind = kind
            self.cells = cells
        }
    }
}

extension Batch {
    /// Makes a batch of a delta.
    /// - Parameter details: the history entry of each transaction; the header of the result is
    ///   replaced.
    package init(
        _ delta: Delta, schema: MergeSchema, store: StoreID, sender: ReplicaID,
        details: (TransactionHeader) -> Transaction = { Transaction($0) }
    ) {
        let transactions = delta.headers.map { header in
            var transaction = details(header)
            transaction.header = header
            return transaction
        }
        self.init(
            store: store, sender: sender, from: delta.since, upTo: delta.upTo,
            entities: schema.batchEntities, transactions: transactions, facts: delta.facts)
    }

    /// A fact, or the part of one, that a schema has no place for.
    package struct UnplacedFact: Sendable, Hashable {
        /// As the batch names it; of a version, the fields of ``columns`` alone.
        package let fact: Fact
        /// The position of its entity in the batch.
        package let entity: Int
        /// The columns that it is about; none for a life fact.
        package let columns: [String]
    }

    /// The facts that a state with this schema can merge, and those that the schema has no place
    /// for: of unknown entities, of those that identify rows otherwise, or of unknown columns. The
    /// latter have to be kept and forwarded, and merged when the schema has a place for them.
    package func resolved(in schema: MergeSchema) -> (delta: Delta, unknown: [UnplacedFact]) {
        var places: [String: Int] = [:]
        for (position, entity) in schema.entities.enumerated() {
            places[Collation.lowercased(entity.name)] = position
        }
        let targets = entities.map { entity in
            places[Collation.lowercased(entity.name)].flatMap { place in
                entity.identifiesRows(as: schema.entities[place])
                    ? CellMap(from: entity, place: place, to: schema.entities[place]) : nil
            }
        }
        var known: [Fact] = []
        var unknown: [UnplacedFact] = []
        for fact in facts {
            switch fact {
            case .alias: known.append(fact)
            case .life(let uid, let entity, let life):
                if let target = targets[entity] {
                    known.append(.life(uid, entity: target.place, life))
                } else {
                    unknown.append(UnplacedFact(fact: fact, entity: entity, columns: []))
                }
            case .cell(let uid, let entity, let cell, let version):
                let resolved = targets[entity]?.resolved(uid, cell: cell, version: version)
                known += resolved?.facts ?? []
                let rest = resolved?.rest ?? Array(version.value.indices)
                if rest.isEmpty { continue }
                unknown.append(
                    UnplacedFact(
                        fact: .cell(uid, entity: entity, cell: cell, version.fields(at: rest)),
                        entity: entity, columns: rest.map { entities[entity].cells[cell][$0] }))
            }
        }
        let headers = transactions.map(\.header)
        return (Delta(since: from, headers: headers, facts: known), unknown)
    }
}
