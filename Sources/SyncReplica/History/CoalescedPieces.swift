import SyncCore

/// The pieces of a transaction that is several commits, while its changes are read in order.
///
/// What a delete cascades to comes before it, though its parent is logged first: otherwise a part
/// that ends in between leaves rows without their parent, which each replica has to reconsider with
/// each part that follows.
struct CoalescedPieces {
    typealias Piece = CoalescedParts.Piece

    private var pieces: [Piece] = []
    /// Deletes that follow each other, and what they cascade to, by depth.
    private var deletes: [[Piece]] = []
    /// By entity, of those in ``deletes``: how deep its rows are. Changes of other tables, as those
    /// of a trigger that keeps an audit, do not end them.
    private var depths: [Int64: Int] = [:]
    /// How old the first and the last of them are.
    private var ages: (first: Int64, last: Int64) = (0, 0)
    /// Deeper ones may be a circle of tables.
    private static let depthMax = 50
    /// How many changes were read.
    private var count = 0

    /// Takes in the next change: one piece for each time that it was written at.
    /// - Parameter byteCount: of the values that it wrote, about.
    mutating func append(_ change: NetChange, byteCount: Int64) {
        defer { count += 1 }
        let age = change.written.last?.ageMilliseconds ?? 0
        guard let depth = depth(of: change, age: age) else {
            if depths[change.entity.id] != nil { endDeletes() }
            return Self.append(change, at: count, byteCount: byteCount, to: &pieces)
        }
        if deletes.isEmpty { ages.first = age }
        ages.last = age
        depths[change.entity.id] = depth
        while deletes.count <= depth { deletes.append([]) }
        Self.append(change, at: count, byteCount: byteCount, to: &deletes[depth])
    }

    /// How deep a delete is, or what one cascades to; nil for other changes.
    private mutating func depth(of change: NetChange, age: Int64) -> Int? {
        let entity = change.entity.id
        let isTogether =
            ages.last - age < CoalescedParts.pauseMilliseconds
            && ages.first - age < CoalescedParts.spanMilliseconds
        if !isTogether { endDeletes() }
        guard case .cascade(let parent, _) = change.cause, !deletes.isEmpty else {
            return change.kind == .delete ? depths[entity] ?? 0 : nil
        }
        // Of a table that refers to itself the rows stay in their order.
        let least = parent == entity ? 0 : min((depths[parent] ?? 0) + 1, Self.depthMax)
        return max(depths[entity] ?? 0, least)
    }

    /// The pieces, the oldest first.
    /// - Complexity: O(n log n) for n pieces
    mutating func sorted() -> [Piece] {
        endDeletes()
        return pieces.enumerated().sorted {
            (-$0.element.ageMilliseconds, $0.offset) < (-$1.element.ageMilliseconds, $1.offset)
        }.map(\.element)
    }

    /// The deepest first; none is older than what it cascades to.
    private mutating func endDeletes() {
        guard !deletes.isEmpty else { return }
        var newest = Int64.max
        for level in deletes.reversed() {
            let former = newest
            for var piece in level {
                newest = min(newest, piece.ageMilliseconds)
                piece.ageMilliseconds = min(former, piece.ageMilliseconds)
                Self.append(piece, to: &pieces)
            }
        }
        (deletes, depths) = ([], [:])
    }

    private static func append(
        _ change: NetChange, at position: Int, byteCount: Int64, to pieces: inout [Piece]
    ) {
        guard change.written.count > 1, change.kind != .delete else {
            let age = change.written.last?.ageMilliseconds ?? 0
            return append(
                Piece(
                    change.seq, at: position, ageMilliseconds: age, place: nil,
                    byteCount: byteCount),
                to: &pieces)
        }
        for (place, time) in change.written.enumerated() {
            pieces.append(
                Piece(
                    change.seq, at: position, ageMilliseconds: time.ageMilliseconds,
                    place: Int32(place), byteCount: byteCount))
        }
    }

    private static func append(_ piece: Piece, to pieces: inout [Piece]) {
        if !pieces.isEmpty, pieces[pieces.count - 1].extend(by: piece) { return }
        pieces.append(piece)
    }
}
