import SyncCore
import SyncValues

/// Takes a transaction of history apart for merging: one that is several commits, because their
/// boundaries are unknown, where nothing is known of it yet, and one that is too large.
///
/// Facts have the time of their transaction, and of concurrent ones the newest is shown. As one
/// transaction, all that a machine wrote in a week offline would be as new as its last write, and
/// win over everything that others wrote in that week. So each write goes to a part with a time of
/// its own. Parts are transactions like any other to all replicas, old and new: what decides is in
/// their headers, which are signed and which the sums name.
///
/// A commit among them that lasts longer than the limits is in several parts, as it is in several
/// when it has more changes than ``PartitionLimits/partChangesMax``: a reader elsewhere may see it
/// half merged, like one that is beyond ``PartitionLimits/factsMax``. Local history has one
/// transaction as before.
enum TransactionParts {
    /// A part ends before a write that follows after this time. Shorter: more commits are cut.
    /// Longer: edits of this age count as new.
    static let pauseMilliseconds: Int64 = 1_000
    /// A part holds writes of at most this time, where they follow each other without a pause.
    static let spanMilliseconds: Int64 = 10_000

    /// What was written at one time: changes that follow each other, or a part of one.
    struct Piece {
        /// The numbers of the changes; ``count`` of those, after ``skipped`` others.
        private(set) var numbers: ClosedRange<Int64>
        /// The positions of the changes in the transaction.
        private var positions: ClosedRange<Int>
        var ageMilliseconds: Int64
        /// Which of the change's times it is; nil: it is whole changes.
        private let place: Int32?
        private(set) var skipped: Int32 = 0
        private(set) var count: Int32 = 1
        /// Bytes of the values, about.
        private(set) var byteCount: Int64
        /// Whether its last changes go first where it is divided.
        private var isReversed = false

        init(
            _ number: Int64, at position: Int, ageMilliseconds: Int64, place: Int32?,
            byteCount: Int64
        ) {
            numbers = number...number
            positions = position...position
            self.ageMilliseconds = ageMilliseconds
            self.place = place
            self.byteCount = byteCount
        }

        /// Takes in the changes that follow, if they were written at the same time.
        mutating func extend(by next: Piece, limits: PartitionLimits) -> Bool {
            guard place == nil, next.place == nil, ageMilliseconds == next.ageMilliseconds,
                positions.upperBound + 1 == next.positions.lowerBound,
                Int(count + next.count) <= limits.partChangesMax,
                byteCount + next.byteCount <= limits.partBytesMax
            else { return false }
            numbers = numbers.lowerBound...next.numbers.upperBound
            positions = positions.lowerBound...next.positions.upperBound
            count += next.count
            byteCount += next.byteCount
            return true
        }

        /// The same changes, of which the last ones go first where it is divided.
        var reversed: Piece {
            var piece = self
            piece.isReversed = true
            return piece
        }

        /// The changes of it that go first, and the others.
        fileprivate func divided(after first: Int32) -> (Piece, Piece) {
            var (head, tail) = (self, self)
            head.count = first
            tail.count -= first
            if isReversed { head.skipped += tail.count } else { tail.skipped += first }
            head.byteCount = byteCount * Int64(first) / Int64(max(1, count))
            tail.byteCount -= head.byteCount
            return (head, tail)
        }

        /// What this piece is of a change.
        func part(of change: NetChange) -> NetChange {
            guard let place = place.map(Int.init), place < change.written.count else {
                return change
            }
            let isInsert = change.kind == .insert && place == 0
            return isInsert ? change : change.update(of: change.written[place].columns)
        }
    }

    /// The parts of a transaction, in order. The last one has its number and its time.
    /// - Parameter pieces: of all its changes, the oldest first.
    /// - Complexity: O(pieces)
    static func parts(
        of entry: UnrecordedTransactions.Entry, _ pieces: [Piece], limits: PartitionLimits
    ) -> [UnrecordedTransactions.Entry] {
        if pieces.isEmpty { return [entry] }
        let groups = groups(of: pieces, limits)
        // Each part needs a number of its own. Each write has a log row, so that there are enough.
        guard Int64(groups.count) <= entry.number - entry.first + 1 else { return [entry] }
        return groups.enumerated().map { place, group in
            entry.part(
                entry.number - Int64(groups.count - 1 - place),
                at: entry.time(group.last?.ageMilliseconds ?? 0), of: group)
        }
    }

    private static func groups(of pieces: [Piece], _ limits: PartitionLimits) -> [[Piece]] {
        var groups: [[Piece]] = []
        var group: [Piece] = []
        var (count, byteCount) = (0, Int64(0))
        func end() {
            if !group.isEmpty { groups.append(group) }
            (group, count, byteCount) = ([], 0, 0)
        }
        for var piece in pieces {
            if let first = group.first, let last = group.last,
                last.ageMilliseconds - piece.ageMilliseconds >= pauseMilliseconds
                    || first.ageMilliseconds - piece.ageMilliseconds >= spanMilliseconds
                    || byteCount + piece.byteCount > limits.partBytesMax
            {
                end()
            }
            while count + Int(piece.count) > limits.partChangesMax {
                let (head, tail) = piece.divided(after: Int32(limits.partChangesMax - count))
                if head.count > 0 { group.append(head) }
                end()
                piece = tail
            }
            group.append(piece)
            count += Int(piece.count)
            byteCount += piece.byteCount
        }
        end()
        return groups
    }
}

extension NetChange {
    /// An update of the same object, of some columns.
    fileprivate func update(of columns: ColumnMask) -> NetChange {
        var update = NetChange(
            seq: seq, entity: entity, key: key, kind: .update, mask: columns,
            cause: kind == .update ? cause : .direct)
        update.last = last
        update.written = written
        return update
    }
}
