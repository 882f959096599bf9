import SyncMerge
import SyncStorage
import SyncValues

/// The batches of one extraction. Each is made when it is asked for, from what the extraction has
/// put aside: by then the store may have changed, and the connection is free.
struct OutgoingExtraction: BatchSource {
    /// A batch without its transactions and facts.
    struct Frame: Sendable {
        var batch: Batch
        /// Which of the parts it has.
        let parts: Range<Int>
    }

    var frames: [Frame]
    /// What the batches are signed with.
    var key: SigningKey?

    let parts: [OutgoingPart]
    private let content: ScratchStreams
    private let entities: [Batch.Entity]
    private let partCells: [PartCell: Int]
    private let places: [Int64: Int]
    private let widths: [[Int]]
    private let names: [Int64: ReplicaID]
    private let numbers: [ReplicaID: Int64]

    /// No batches of these parts yet.
    init(_ parts: OutgoingParts, of storage: ReplicaStorage) {
        frames = []
        self.parts = parts.parts
        content = parts.content
        entities = parts.described.entities
        partCells = parts.described.parts
        places = parts.places
        widths = parts.widths
        names = storage.replicas.names
        numbers = storage.replicas.numbers
    }

    var count: Int { frames.count }

    func batch(at place: Int) throws -> [UInt8] {
        if let refusal = parts[frames[place].parts].lazy.compactMap(\.refusal).first {
            throw refusal
        }
        return try BatchEncoder.encode(made(at: place), signing: key)
    }

    /// A batch with its transactions and facts.
    /// - Throws: as ``batch(at:)``.
    /// - Complexity: O(its facts)
    func made(at place: Int) throws -> Batch {
        let range = frames[place].parts
        var transactions: [Batch.Transaction] = []
        for part in range {
            try OutgoingPart.forEachTransaction(
                in: try content.bytes(of: 2 * part), names: names
            ) { header, details in
                transactions.append(
                    try HeaderDetails.decode(details, of: header) { places[$0] })
            }
        }
        let writes = try addFacts(of: range, transactions)
        nameForwardedCells(writes.forwarded, in: &transactions)
        leaveOutUnknownCells(of: &transactions)
        let facts = writes.facts.finished()
        var batch = frames[place].batch.with(transactions, arriving: facts)
        let numbers = writes.facts.numbers
        if numbers.contains(where: { $0 != nil }) { batch.extras.columnNumbers = numbers }
        return batch
    }

    private func addFacts(
        of range: Range<Int>, _ transactions: [Batch.Transaction]
    ) throws -> (facts: OutgoingFacts, forwarded: [Write: [Int]]) {
        var facts = OutgoingFacts(
            of: transactions.map(\.header.dot), numbers: numbers, parts: partCells)
        for part in range {
            try OutgoingPart.forEachRecord(in: try content.bytes(of: 2 * part + 1)) { record in
                try facts.add(record, widths: widths[record.entity])
            }
        }
        var forwarded: [Write: [Int]] = [:]
        guard range.contains(where: { !parts[$0].others.isEmpty }) else {
            return (facts, forwarded)
        }
        var positions: [Dot: Int] = [:]
        for (position, transaction) in transactions.enumerated() {
            positions[transaction.header.dot] = position
        }
        for (fact, number) in range.lazy.flatMap({ parts[$0].others }) {
            guard let position = positions[fact.dot] else { continue }
            facts.add(fact, of: position, number: number)
            if case .cell(let uid, let entity, let cell, _) = fact {
                forwarded[Write(transaction: position, object: uid, entity: entity), default: []]
                    .append(cell)
            }
        }
        return (facts, forwarded)
    }

    /// Cells of one object that a transaction wrote and that this replica has no column for.
    private struct Write: Hashable {
        let transaction: Int
        let object: ObjectUID
        let entity: Int
    }

    /// Headers name the cells that this replica has; the receiver may have the others, too.
    private func nameForwardedCells(
        _ writes: [Write: [Int]], in transactions: inout [Batch.Transaction]
    ) {
        if writes.isEmpty { return }
        for place in transactions.indices {
            for change in transactions[place].changes.indices {
                let described = transactions[place].changes[change]
                guard described.kind == .update else { continue }
                let write = Write(
                    transaction: place, object: described.object, entity: described.entity)
                guard let cells = writes[write] else { continue }
                let all = Set(described.cells).union(cells).sorted()
                transactions[place].changes[change].cells = all
            }
        }
    }

    /// A change may name a cell without a fact that is still current.
    private func leaveOutUnknownCells(of transactions: inout [Batch.Transaction]) {
        for place in transactions.indices {
            for change in transactions[place].changes.indices {
                let changed = transactions[place].changes[change]
                let count = entities[changed.entity].cells.count
                guard changed.cells.contains(where: { $0 >= count }) else { continue }
                transactions[place].changes[change].cells.removeAll { $0 >= count }
            }
        }
    }
}
