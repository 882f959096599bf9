import SyncCore
import SyncValues

/// Takes a transaction of history that is several commits, because their boundaries are unknown,
/// apart for merging, where nothing is known of it yet.
///
/// Facts have the time of their transaction, and of concurrent ones the newest is shown. As one
/// transaction, all that a machine wrote in a week offline would be as new as its last write, and
/// win over everything that others wrote in that week. So each write goes to a part with a time of
/// its own. Parts are transactions like any other to all replicas, old and new: what decides is in
/// their headers, which are signed and which the sums name.
///
/// A commit that lasts longer than the limits is in several parts, as it is in several when it has
/// more changes than ``changesMax``: a reader elsewhere may see it half merged. Local history has
/// one transaction as before.
enum CoalescedParts {
    /// Changes in one part: merged as a whole, a large transaction blocks the writers of every
    /// replica for as long as all of these commits together did.
    static let changesMax = 500
    /// A part ends before a write that follows after this time. Shorter: more commits are cut.
    /// Longer: edits of this age count as new.
    static let pauseMilliseconds: Int64 = 1_000
    /// A part holds writes of at most this time, where they follow each other without a pause.
    static let spanMilliseconds: Int64 = 10_000

    /// What was written at one time: changes that follow each other, or a part of one.
    struct Piece {
        /// The numbers of the changes; ``count`` of those, after ``skipped`` others.
        private(set) var numbers: ClosedRange<Int64>
        let ageMilliseconds: Int64
        /// Which of the change's times it is; nil: it is whole changes.
        fileprivate let place: Int32?
        fileprivate(set) var skipped: Int32 = 0
        fileprivate(set) var count: Int32 = 1

        /// Takes in the next change, if it was written at the same time.
        fileprivate mutating func extend(to seq: Int64, age: Int64) -> Bool {
            guard place == nil, ageMilliseconds == age, count < CoalescedParts.changesMax else {
                return false
            }
            numbers = numbers.lowerBound...seq
            count += 1
            return true
        }

        /// The first changes of it, and the others.
        fileprivate func divided(after first: Int32) -> (Piece, Piece) {
            var (head, tail) = (self, self)
            head.count = first
            tail.skipped += first
            tail.count -= first
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

    /// Appends the next change: one piece for each time that it was written at.
    static func append(_ change: NetChange, to pieces: inout [Piece]) {
        let numbers = change.seq...change.seq
        guard change.written.count > 1, change.kind != .delete else {
            let age = change.written.last?.ageMilliseconds ?? 0
            if !pieces.isEmpty, pieces[pieces.count - 1].extend(to: change.seq, age: age) { return }
            pieces.append(Piece(numbers: numbers, ageMilliseconds: age, place: nil))
            return
        }
        for (place, time) in change.written.enumerated() {
            pieces.append(
                Piece(
                    numbers: numbers, ageMilliseconds: time.ageMilliseconds, place: Int32(place)))
        }
    }

    /// The parts of a transaction, in order. The last one has its number and its time.
    /// - Parameter pieces: of all its changes, in order.
    /// - Complexity: O(n log n) for n pieces
    static func parts(
        of entry: UnrecordedTransactions.Entry, _ pieces: [Piece]
    ) -> [UnrecordedTransactions.Entry] {
        if pieces.isEmpty { return [entry] }
        // The oldest first.
        let pieces = pieces.sorted {
            (-$0.ageMilliseconds, $0.numbers.lowerBound, $0.place ?? 0)
                < (-$1.ageMilliseconds, $1.numbers.lowerBound, $1.place ?? 0)
        }
        let groups = groups(of: pieces)
        // Each part needs a number of its own. Each write has a log row, so that there are enough.
        guard Int64(groups.count) <= entry.number - entry.first + 1 else { return [entry] }
        return groups.enumerated().map { place, group in
            entry.part(
                entry.number - Int64(groups.count - 1 - place),
                at: entry.time(group.last?.ageMilliseconds ?? 0), of: group)
        }
    }

    private static func groups(of pieces: [Piece]) -> [[Piece]] {
        var groups: [[Piece]] = []
        var group: [Piece] = []
        var count = 0
        func end() {
            if !group.isEmpty { groups.append(group) }
            (group, count) = ([], 0)
        }
        for var piece in pieces {
            if let first = group.first, let last = group.last,
                last.ageMilliseconds - piece.ageMilliseconds >= pauseMilliseconds
                    || first.ageMilliseconds - piece.ageMilliseconds >= spanMilliseconds
            {
                end()
            }
            while count + Int(piece.count) > changesMax {
                let (head, tail) = piece.divided(after: Int32(changesMax - count))
                if head.count > 0 { group.append(head) }
                end()
                piece = tail
            }
            group.append(piece)
            count += Int(piece.count)
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
