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

    /// What was written at one time: a change, or a part of one.
    struct Piece {
        /// The number of the change.
        let seq: Int64
        let ageMilliseconds: Int64
        /// Which of the change's times it is; nil: it is the whole change.
        fileprivate let place: Int32?

        /// What this piece is of the change.
        func part(of change: NetChange) -> NetChange {
            guard let place = place.map(Int.init), place < change.written.count else {
                return change
            }
            let isInsert = change.kind == .insert && place == 0
            return isInsert ? change : change.update(of: change.written[place].columns)
        }
    }

    /// One piece for each time that a change was written at.
    static func pieces(of change: NetChange) -> [Piece] {
        guard change.written.count > 1, change.kind != .delete else {
            let age = change.written.last?.ageMilliseconds ?? 0
            return [Piece(seq: change.seq, ageMilliseconds: age, place: nil)]
        }
        return change.written.enumerated().map { place, time in
            Piece(seq: change.seq, ageMilliseconds: time.ageMilliseconds, place: Int32(place))
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
            (-$0.ageMilliseconds, $0.seq, $0.place ?? 0)
                < (-$1.ageMilliseconds, $1.seq, $1.place ?? 0)
        }
        let groups = groups(of: pieces)
        // Each part needs a number of its own. Each write has a log row, so that there are enough.
        guard Int64(groups.count) <= entry.number - entry.first + 1 else { return [entry] }
        return groups.enumerated().map { place, group in
            entry.part(
                entry.number - Int64(groups.count - 1 - place),
                at: entry.time(pieces[group.upperBound - 1].ageMilliseconds), of: pieces[group])
        }
    }

    private static func groups(of pieces: [Piece]) -> [Range<Int>] {
        var groups: [Range<Int>] = []
        var start = 0
        for (index, piece) in pieces.enumerated().dropFirst() {
            if index - start < changesMax,
                pieces[index - 1].ageMilliseconds - piece.ageMilliseconds < pauseMilliseconds,
                pieces[start].ageMilliseconds - piece.ageMilliseconds < spanMilliseconds
            {
                continue
            }
            groups.append(start..<index)
            start = index
        }
        return groups + [start..<pieces.count]
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
