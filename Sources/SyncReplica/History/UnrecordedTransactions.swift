import SyncCore
import SyncStorage
import SyncValues

/// The local transactions that are not recorded as facts yet, read from the history tables; one
/// that is several commits, or too large, in parts (``TransactionParts``).
struct UnrecordedTransactions {
    /// A transaction as the tables have it, or a part of one.
    struct Entry {
        var number: Int64
        /// The first number that is free for it.
        let first: Int64
        var time: Timestamp
        /// The time of the whole transaction.
        let end: Timestamp
        let author: String?
        let context: String?
        let process: Transaction.Process?
        let flags: Transaction.Flags
        let isLocal: Bool
        fileprivate(set) var content = Content.nothing
        /// Empty until they are loaded (``UnrecordedTransactions/loaded(_:)``).
        fileprivate(set) var changes: [NetChange] = []

        /// No more changes than these are in it.
        var changesMax: Int {
            switch content {
            case .nothing: 0
            case .whole(let numbers): numbers.count
            case .pieces(let pieces): pieces.reduce(0) { $0 + Int($1.count) }
            }
        }

        /// The time of a write.
        func time(_ ageMilliseconds: Int64) -> Timestamp {
            Timestamp(milliseconds: max(0, end.milliseconds - ageMilliseconds))
        }

        /// The same transaction with other changes.
        func part(_ number: Int64, at time: Timestamp, of pieces: [TransactionParts.Piece]) -> Entry
        {
            var part = self
            (part.number, part.time, part.content) = (number, time, .pieces(pieces))
            return part
        }
    }

    /// Where the changes of a transaction are.
    enum Content {
        case nothing
        /// All changes with these numbers.
        case whole(ClosedRange<Int64>)
        case pieces([TransactionParts.Piece])
    }

    private let catalog: EntityCatalog
    private let selectHeaders: Statement
    private let selectChanges: Statement

    init(_ connection: OpaquePointer, catalog: EntityCatalog) throws {
        self.catalog = catalog
        selectHeaders = try Statement(
            """
            SELECT t.number, t.first, t.time, t.pid, t.flags, t.origin IS NULL,
              w.author, w.context, w.process
            FROM syncd_transaction t LEFT JOIN syncd_who w ON w.id = t.who
            WHERE t.number > ?1 ORDER BY t.number
            """, on: connection)
        selectChanges = try Statement(
            """
            SELECT seq, op, key, data FROM syncd_change
            WHERE seq >= ?1 AND seq <= ?2 ORDER BY seq
            """, on: connection)
    }

    /// The transactions after a number, in order, without their changes.
    /// - Parameter measure: of the changes; nil: none is taken apart for its size.
    /// - Throws: SQLite errors; `corrupt`, `badData` for changes that cannot be read.
    /// - Complexity: O(transactions after the number, and changes of those that are large or are
    ///   several commits); of these, 60 bytes for each millisecond in which there were some.
    func entries(
        after number: Int64, limits: PartitionLimits, measuredBy measure: (any ChangeMeasuring)?
    ) throws -> [Entry] {
        selectHeaders.bind(number, at: 1)
        defer { selectHeaders.reset() }
        var entries: [Entry] = []
        while try selectHeaders.step() {
            let (number, first) = (selectHeaders.integer(0), selectHeaders.integer(1))
            let flags = Transaction.Flags(rawValue: Int(selectHeaders.integer(4)))
            let isLocal =
                selectHeaders.integer(5) != 0 && flags.isDisjoint(with: [.remote, .repair])
            let process = selectHeaders.text(8)
            let time = Timestamp(milliseconds: selectHeaders.integer(2))
            var entry = Entry(
                number: number, first: first, time: time, end: time,
                author: selectHeaders.text(6), context: selectHeaders.text(7),
                process: selectHeaders.integerOrNil(3).map { .init(pid: $0, name: process) },
                flags: flags, isLocal: isLocal)
            if isLocal, first <= number { entry.content = .whole(first...number) }
            entries += try parts(of: entry, limits, measure)
        }
        return entries
    }

    private func parts(
        of entry: Entry, _ limits: PartitionLimits, _ measure: (any ChangeMeasuring)?
    ) throws -> [Entry] {
        guard try entry.flags.contains(.coalesced) || isLarge(entry, limits, measure) else {
            return [entry]
        }
        var pieces = TransactionPieces(limits: limits)
        try forEachChange(of: entry) { change in
            pieces.append(
                change, byteCount: try measure?.byteCount(of: change) ?? 0,
                rank: try measure?.rank(of: change),
                isNested: try measure?.isNested(change) ?? false)
        }
        return TransactionParts.parts(of: entry, pieces.sorted(), limits: limits)
    }

    /// Whether a transaction is beyond the limits for one.
    /// - Complexity: O(changes), where it has many, or the database has large values; else O(1)
    private func isLarge(
        _ entry: Entry, _ limits: PartitionLimits, _ measure: (any ChangeMeasuring)?
    ) throws -> Bool {
        guard let measure, case .whole(let numbers) = entry.content,
            measure.mayExceed(limits, count: numbers.count)
        else { return false }
        var (facts, bytes) = (0, Int64(0))
        try forEachChange(of: entry) { change in
            facts += try measure.factCount(of: change)
            bytes += try measure.byteCount(of: change)
        }
        return facts > limits.factsMax || bytes > limits.bytesMax
    }

    /// The transactions with their changes.
    /// - Throws: as ``entries(after:limits:measuredBy:)``.
    /// - Complexity: O(changes)
    func loaded(_ entries: [Entry]) throws -> [Entry] {
        try entries.map { entry in
            var entry = entry
            entry.changes = []
            try forEachChange(of: entry) { entry.changes.append($0) }
            return entry
        }
    }

    /// Calls `body` with each change of a transaction, in order.
    /// - Parameter isWanted: whether it is, by its table and its key as it is stored; called for
    ///   each change. What is not is not decoded.
    /// - Throws: as ``entries(after:limits:measuredBy:)``; what `body` throws.
    /// - Complexity: O(changes)
    func forEachChange(
        of entry: Entry, where isWanted: (TrackedEntity, Value) throws -> Bool = { _, _ in true },
        _ body: (NetChange) throws -> Void
    ) throws {
        switch entry.content {
        case .nothing: break
        case .whole(let numbers): try forEachChange(in: numbers, where: isWanted, body)
        case .pieces(let pieces):
            for piece in pieces {
                var position: Int32 = 0
                let changes = piece.skipped..<piece.skipped + piece.count
                try forEachChange(
                    in: piece.numbers,
                    where: { entity, key in
                        defer { position += 1 }
                        return try changes.contains(position) && isWanted(entity, key)
                    },
                    { try body(piece.part(of: $0)) })
            }
        }
    }

    private func forEachChange(
        in numbers: ClosedRange<Int64>, where isWanted: (TrackedEntity, Value) throws -> Bool,
        _ body: (NetChange) throws -> Void
    ) throws {
        selectChanges.bind(numbers.lowerBound, at: 1)
        selectChanges.bind(numbers.upperBound, at: 2)
        defer { selectChanges.reset() }
        while try selectChanges.step() {
            let op = selectChanges.integer(1)
            guard let kind = Change.Kind(rawValue: Int(op & 7)),
                let entity = try catalog.entity(op >> 3)
            else { continue }
            let key = selectChanges.value(2)
            guard try isWanted(entity, key) else { continue }
            try body(
                try NetChange(
                    seq: selectChanges.integer(0), entity: entity, kind: kind, key: key,
                    data: selectChanges.blob(3)))
        }
    }
}
