import SyncCore

/// The pieces of a transaction that is taken apart, while its changes are read in order.
///
/// A part that ends between a row and its parent leaves rows without their parent, which each
/// replica has to reconsider with each part that follows. So what a delete cascades to comes before
/// it, though its parent is logged first; and of inserts that follow each other, those of parents
/// come before those of their children, though a deferred constraint, or none, allows another
/// order. Of a table that refers to itself the newer rows are deleted before the older ones.
struct TransactionPieces {
    typealias Piece = TransactionParts.Piece

    private let limits: PartitionLimits
    private var pieces: [Piece] = []
    /// Inserts that follow each other, by the rank of their tables.
    private var inserts: [(rank: Int, pieces: [Piece])] = []
    private var ranks: Set<Int> = []
    /// Whether inserts of a table began after those of its children.
    private var isChildFirst = false
    private var insertAges = Ages()
    /// With more, rows of several tables were written in turns: one that needs another follows it.
    private static let insertedMax = 1_000
    /// Deletes that follow each other, and what they cascade to, by depth.
    private var deletes: [Deletes] = []
    /// By entity, of those in ``deletes``: how deep its rows are. Changes of other tables, as those
    /// of a trigger that keeps an audit, do not end them.
    private var depths: [Int64: Int] = [:]
    private var deleteAges = Ages()
    /// Deeper ones may be a circle of tables.
    private static let depthMax = 50
    /// How many changes were read.
    private var count = 0

    /// How old the first and the last of several changes are.
    private struct Ages {
        var first = Int64(0)
        var last = Int64(0)

        /// Whether what was written later may be in the same part.
        func reach(_ age: Int64) -> Bool {
            last - age < TransactionParts.pauseMilliseconds
                && first - age < TransactionParts.spanMilliseconds
        }
    }

    /// The deletes of one depth.
    private struct Deletes {
        var pieces: [Piece] = []
        /// The table that they are of, and the keys of the first and the last one, as long as it is
        /// one table, which refers to itself.
        private var nested: (entity: Int64, first: Int64, last: Int64)?

        /// Notes a delete before it is added.
        mutating func note(_ change: NetChange, isNested: Bool) {
            guard isNested, case .integer(let number) = change.key.values.first ?? .null,
                change.key.values.count == 1
            else { return nested = nil }
            if pieces.isEmpty { nested = (change.entity.id, number, number) }
            if nested?.entity == change.entity.id { nested?.last = number } else { nested = nil }
        }

        /// In their order. Rows mostly refer to rows of their table that are older: where the older
        /// ones were deleted first, the newer ones come before them.
        var levels: [[Piece]] {
            guard let nested, nested.first < nested.last else { return [pieces] }
            return pieces.reversed().map { [$0.reversed] }
        }
    }

    init(limits: PartitionLimits) { self.limits = limits }

    /// Takes in the next change: one piece for each time that it was written at.
    /// - Parameters:
    ///   - byteCount: of the values that it wrote, about.
    ///   - rank: of its table, ascending from parents to children; nil: it has neither.
    ///   - isNested: whether its table refers to itself.
    mutating func append(_ change: NetChange, byteCount: Int64, rank: Int?, isNested: Bool) {
        defer { count += 1 }
        let age = change.written.last?.ageMilliseconds ?? 0
        if change.kind == .insert, change.written.count <= 1 {
            if depths[change.entity.id] != nil { endDeletes() }
            return insert(
                Piece(
                    change.seq, at: count, ageMilliseconds: age, place: nil, byteCount: byteCount),
                rank: rank)
        }
        endInserts()
        guard let depth = depth(of: change, age: age) else {
            if depths[change.entity.id] != nil { endDeletes() }
            return append(change, byteCount: byteCount)
        }
        if deletes.isEmpty { deleteAges.first = age }
        deleteAges.last = age
        depths[change.entity.id] = depth
        while deletes.count <= depth { deletes.append(Deletes()) }
        deletes[depth].note(change, isNested: isNested)
        Self.append(
            Piece(change.seq, at: count, ageMilliseconds: age, place: nil, byteCount: byteCount),
            to: &deletes[depth].pieces, limits)
    }

    /// The pieces, the oldest first.
    /// - Complexity: O(n log n) for n pieces
    mutating func sorted() -> [Piece] {
        endInserts()
        endDeletes()
        return pieces.enumerated().sorted {
            (-$0.element.ageMilliseconds, $0.offset) < (-$1.element.ageMilliseconds, $1.offset)
        }.map(\.element)
    }

    // MARK: Inserts

    private mutating func insert(_ piece: Piece, rank: Int?) {
        if !insertAges.reach(piece.ageMilliseconds) || inserts.count > Self.insertedMax {
            endInserts()
        }
        if inserts.isEmpty { insertAges.first = piece.ageMilliseconds }
        insertAges.last = piece.ageMilliseconds
        let rank = rank ?? inserts.last?.rank ?? 0
        if inserts.last?.rank != rank {
            if ranks.insert(rank).inserted, ranks.contains(where: { $0 > rank }) {
                isChildFirst = true
            }
            inserts.append((rank, []))
        }
        Self.append(piece, to: &inserts[inserts.count - 1].pieces, limits)
    }

    private mutating func endInserts() {
        guard !inserts.isEmpty else { return }
        if isChildFirst, inserts.count <= Self.insertedMax {
            inserts = inserts.enumerated().sorted {
                ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset)
            }.map(\.element)
        }
        append(inserts.map(\.pieces))
        (inserts, ranks, isChildFirst) = ([], [], false)
    }

    // MARK: Deletes

    /// How deep a delete is, or what one cascades to; nil for other changes.
    private mutating func depth(of change: NetChange, age: Int64) -> Int? {
        let entity = change.entity.id
        if !deleteAges.reach(age) { endDeletes() }
        guard case .cascade(let parent, _) = change.cause, !deletes.isEmpty else {
            return change.kind == .delete ? depths[entity] ?? 0 : nil
        }
        let least = parent == entity ? 0 : min((depths[parent] ?? 0) + 1, Self.depthMax)
        return max(depths[entity] ?? 0, least)
    }

    /// The deepest first.
    private mutating func endDeletes() {
        guard !deletes.isEmpty else { return }
        append(deletes.reversed().flatMap(\.levels))
        (deletes, depths) = ([], [:])
    }

    // MARK: Pieces

    /// Appends what follows each other: none is older than what is in a level before it.
    private mutating func append(_ levels: [[Piece]]) {
        var newest = Int64.max
        for level in levels {
            let former = newest
            for var piece in level {
                newest = min(newest, piece.ageMilliseconds)
                piece.ageMilliseconds = min(former, piece.ageMilliseconds)
                Self.append(piece, to: &pieces, limits)
            }
        }
    }

    private mutating func append(_ change: NetChange, byteCount: Int64) {
        guard change.written.count > 1, change.kind != .delete else {
            let age = change.written.last?.ageMilliseconds ?? 0
            return Self.append(
                Piece(
                    change.seq, at: count, ageMilliseconds: age, place: nil, byteCount: byteCount),
                to: &pieces, limits)
        }
        for (place, time) in change.written.enumerated() {
            pieces.append(
                Piece(
                    change.seq, at: count, ageMilliseconds: time.ageMilliseconds,
                    place: Int32(place), byteCount: byteCount))
        }
    }

    private static func append(
        _ piece: Piece, to pieces: inout [Piece], _ limits: PartitionLimits
    ) {
        if !pieces.isEmpty, pieces[pieces.count - 1].extend(by: piece, limits: limits) { return }
        pieces.append(piece)
    }
}
