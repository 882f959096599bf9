import SyncCore
import SyncValues

/// The pieces of a transaction that is several commits, while its changes are read in order.
///
/// What a delete cascades to comes before it, though its parent is logged first: else a part that
/// ends in between leaves rows without their parent to each replica that merges it, and to each
/// part after it.
struct CoalescedPieces {
    typealias Piece = CoalescedParts.Piece

    private(set) var pieces: [Piece] = []
    /// A delete and what it cascades to, by depth.
    private var cascade: [[Piece]] = []
    /// By entity, of those in ``cascade``: how deep its rows are.
    private var depths: [Int64: Int] = [:]
    /// Deeper ones may be a circle of tables.
    private static let depthMax = 50
    /// How many changes were read.
    private var count = 0

    /// Takes in the next change: one piece for each time that it was written at.
    /// - Parameter byteCount: of the values that it wrote, about.
    mutating func append(_ change: NetChange, byteCount: Int64) {
        defer { count += 1 }
        if case .cascade(let parent, _) = change.cause, !cascade.isEmpty {
            let entity = change.entity.id
            // Of a table that refers to itself the rows stay in their order.
            let least = parent == entity ? 0 : min((depths[parent] ?? 0) + 1, Self.depthMax)
            let depth = max(depths[entity] ?? 1, least)
            depths[entity] = depth
            while cascade.count <= depth { cascade.append([]) }
            append(change, byteCount: byteCount, to: &cascade[depth])
            return
        }
        endCascade()
        if change.kind == .delete {
            depths[change.entity.id] = 0
            cascade.append([])
            append(change, byteCount: byteCount, to: &cascade[0])
        } else {
            append(change, byteCount: byteCount, to: &pieces)
        }
    }

    /// The pieces, the oldest first.
    /// - Complexity: O(n log n) for n pieces
    mutating func sorted() -> [Piece] {
        endCascade()
        return pieces.enumerated().sorted {
            (-$0.element.ageMilliseconds, $0.offset) < (-$1.element.ageMilliseconds, $1.offset)
        }.map(\.element)
    }

    /// The deepest first; none is older than what it cascades to.
    private mutating func endCascade() {
        guard !cascade.isEmpty else { return }
        var newest = Int64.max
        for pieces in cascade.reversed() {
            let former = newest
            for var piece in pieces {
                newest = min(newest, piece.ageMilliseconds)
                piece.ageMilliseconds = min(former, piece.ageMilliseconds)
                append(piece)
            }
        }
        (cascade, depths) = ([], [:])
    }

    /// Of a transaction that only deletes rows, the pieces are few.
    private mutating func append(_ piece: Piece) {
        if !pieces.isEmpty, pieces[pieces.count - 1].extend(by: piece) { return }
        pieces.append(piece)
    }

    private func append(_ change: NetChange, byteCount: Int64, to pieces: inout [Piece]) {
        let isWhole = change.written.count < 2 || change.kind == .delete
        let written = isWhole ? change.written.suffix(1) : change.written[...]
        let first = pieces.count
        for (place, time) in written.enumerated() {
            pieces.append(
                Piece(
                    change.seq, at: count, ageMilliseconds: time.ageMilliseconds,
                    place: isWhole ? nil : Int32(place), byteCount: byteCount))
        }
        if written.isEmpty {
            pieces.append(
                Piece(change.seq, at: count, ageMilliseconds: 0, place: nil, byteCount: byteCount))
        }
        guard isWhole, first > 0, let piece = pieces.popLast() else { return }
        if !pieces[first - 1].extend(by: piece) { pieces.append(piece) }
    }
}
