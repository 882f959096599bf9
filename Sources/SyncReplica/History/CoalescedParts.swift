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

    /// The parts of a transaction, in order. The last one has its number and its time.
    /// - Complexity: O(n log n) for n changes
    static func of(
        _ entry: UnrecordedTransactions.Entry
    ) -> [UnrecordedTransactions.Entry] {
        guard entry.flags.contains(.coalesced), !entry.changes.isEmpty else { return [entry] }
        let groups = groups(of: pieces(of: entry.changes))
        // Each part needs a number of its own. Each write has a log row, so that there are enough.
        guard Int64(groups.count) <= entry.number - entry.first + 1 else { return [entry] }
        return groups.enumerated().map { place, pieces in
            var part = entry
            part.number = entry.number - Int64(groups.count - 1 - place)
            part.time = entry.time(pieces.last?.ageMilliseconds ?? 0)
            part.changes = pieces.map(\.change)
            return part
        }
    }

    /// What was written at one time.
    private struct Piece {
        let change: NetChange
        let ageMilliseconds: Int64
    }

    /// One piece for each time that a change was written at, the oldest first.
    private static func pieces(of changes: [NetChange]) -> [Piece] {
        let pieces = changes.flatMap { change -> [Piece] in
            guard change.written.count > 1, change.kind != .delete else {
                let age = change.written.last?.ageMilliseconds ?? 0
                return [Piece(change: change, ageMilliseconds: age)]
            }
            return change.written.enumerated().map { place, time in
                let isInsert = change.kind == .insert && place == 0
                let piece = isInsert ? change : change.update(of: time.columns)
                return Piece(change: piece, ageMilliseconds: time.ageMilliseconds)
            }
        }
        return pieces.enumerated().sorted { left, right in
            (-left.element.ageMilliseconds, left.offset)
                < (-right.element.ageMilliseconds, right.offset)
        }.map(\.element)
    }

    private static func groups(of pieces: [Piece]) -> [[Piece]] {
        var groups: [[Piece]] = []
        for piece in pieces {
            if let group = groups.last, let first = group.first, let last = group.last,
                group.count < changesMax,
                last.ageMilliseconds - piece.ageMilliseconds < pauseMilliseconds,
                first.ageMilliseconds - piece.ageMilliseconds < spanMilliseconds
            {
                groups[groups.count - 1].append(piece)
            } else {
                groups.append([piece])
            }
        }
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
