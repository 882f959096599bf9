import SyncStorage
import SyncValues

/// Finds where each transaction of other connections ends in the log.
///
/// In WAL mode each commit since the last read is one run of frames; the last rows of its leaf
/// pages say up to which row it filled the log. In the rollback modes the file's change counter
/// says whether there was exactly one. Nothing is pinned between two reads: a reset of the WAL
/// leaves the frames that are not overwritten yet where they were, and the commits in them are
/// found by their checksums and counted against the wal-index's own count. What was overwritten is
/// lost: it becomes part of the next transaction, which says so. Merged, never split.
///
/// Confined to the queue of its connection. One read is
///
///     reader.willRead()
///     // BEGIN; the first SELECT
///     let boundaries = try reader.boundaries(after: digested)
///     // … COMMIT
///
/// Invariants:
/// - `known` ascends, and every row up to its last element, or else up to `forgotten`, is assigned.
/// - `position` is never beyond a snapshot whose rows were assigned: no commit is passed over
///   unseen.
/// - A boundary is exact only when every commit between it and the one before it was seen or
///   counted.
public final class BoundaryReader {
    /// The wal-index, for a ``StoreWatcher``; nil in the rollback modes. Known after the first
    /// read.
    public private(set) var index: WalIndex?

    private let connection: OpaquePointer
    private let rows: LogRows
    private let base: LogBase
    private var known: [Boundary] = []
    private var forgotten: Int64?
    /// The last commit whose rows are assigned for certain; nil: not known, or a rollback mode.
    private(set) var position: WalPosition?
    private var before: WalHeader?
    private var rollback: RollbackCounter?

    private static let attemptsMax = 8

    /// A reader of the log of the store that `connection` (`sqlite3 *`) has open.
    ///
    /// - Parameter log: the name of the log's table: first column `seq`, the INTEGER PRIMARY KEY;
    ///   rows never change.
    /// - Throws: when the log does not exist, or the store cannot be read.
    public init(_ connection: OpaquePointer, log: String = "syncd_log") throws {
        self.connection = connection
        rows = try LogRows(connection, table: log)
        base = try LogBase(connection, table: log, rows: rows)
        index = try WalIndex(connection)
    }

    /// What a read changes here, for a caller that finds out afterwards that it read no state.
    struct Memento {
        fileprivate let index: WalIndex?
        fileprivate let known: [Boundary]
        fileprivate let forgotten: Int64?
        fileprivate let position: WalPosition?
        fileprivate let rollback: RollbackCounter?
    }

    var memento: Memento {
        get {
            Memento(
                index: index, known: known, forgotten: forgotten, position: position,
                rollback: rollback)
        }
        set {
            index = newValue.index
            known = newValue.known
            forgotten = newValue.forgotten
            position = newValue.position
            rollback = newValue.rollback
        }
    }

    /// To be called right before the read transaction begins: what is committed by now is in its
    /// snapshot.
    public func willRead() { before = index?.header() }

    /// To be called after a commit of this process that appended nothing to the log, so that in the
    /// rollback modes it is not taken for a foreign one.
    public func didCommit() { rollback?.ownCommits &+= 1 }

    /// The transactions after row `seq` up to the snapshot of the connection's present transaction.
    ///
    /// May be asked again for what it has answered, until `seq` moves past it.
    ///
    /// - Throws: `busy` when a writer died while it published a commit and none has repaired it
    ///   yet; errors of SQLite.
    /// - Complexity: reads the frames written since the last call; none when nothing was appended.
    public func boundaries(after seq: Int64) throws -> Boundaries {
        let newest = try rows.newest()
        forget(upTo: seq, newest: newest)
        let header = try databaseHeader()
        if header.isWal {
            rollback = nil
            try readWal(after: known.last?.last ?? seq, newest: newest)
        } else {
            index = nil
            position = nil
            readCounter(header.changeCounter, after: known.last?.last ?? seq, newest: newest)
        }
        before = nil
        return Boundaries(transactions: known)
    }

    /// The caller has found the rows of all commits up to `position` by itself: they are assigned.
    func advance(to position: WalPosition) {
        precondition(index != nil, "there is no WAL")
        self.position = position
    }

    /// Drops the boundaries that the caller has.
    private func forget(upTo seq: Int64, newest: Int64) {
        if let last = known.last, last.last > newest {
            // The log is shorter than it was: restored in place. Nothing that was known holds.
            known = []
            forgotten = nil
            position = nil
            rollback = nil
        }
        if let forgotten, seq < forgotten, forgotten <= newest {
            // The caller went back: what it had been given cannot be told apart again.
            known.insert(Boundary(last: forgotten, isExact: false), at: 0)
        }
        known.removeAll { $0.last <= seq }
        forgotten = seq
    }

    // MARK: WAL mode

    private func readWal(after last: Int64, newest: Int64) throws {
        if index == nil { index = try WalIndex(connection) }
        guard let index, let file = SQLiteFile.journal(connection) else {
            throw SyncError(.busy, "the WAL is not open")
        }
        if newest > last {
            let filter = LeafEnd.Filter(
                after: last, newest: newest, columnCountMax: rows.columnCount)
            try assign(
                collect(from: index, file: file, filter: filter), after: last, newest: newest)
        }
        advance(index.header())
    }

    /// The commits since `position`, and which of them is the first after a gap.
    private struct Collection {
        package let header: WalHeader
        var scan: WalScan
        /// How many of the commits are of the generation of `position`, if that is not the present
        /// one.
        var oldCount = 0
        /// The first commit before which others may have been lost.
        var gap: Int?
        /// Where the log ended before the first commit, if nothing is known of what was before, and
        /// that is.
        package var base: Int64?
    }

    private func collect(
        from index: WalIndex, file: SQLiteFile, filter: LeafEnd.Filter
    ) throws -> Collection {
        for _ in 0..<Self.attemptsMax {
            guard let header = index.header() else { continue }
            var found = Collection(header: header, scan: WalScan(filter))
            var start = WalPosition(header, frame: 0, checksum: header.checksum, changeCount: 0)
            var isContinued = false
            if let position, position.generation == header.generation,
                position.frame <= header.frameCount
            {
                // At the beginning the wal-index may not have known of a page size yet.
                if position.frame > 0 { start = position }
                isContinued = true
            } else if let position {
                found.scan.addRest(file, after: position)
                found.oldCount = found.scan.commits.count
            } else {
                found.base = try base.newest(index, filter)
                found.gap = 0
            }
            guard found.scan.add(file, after: start, to: header.frameCount),
                index.header()?.generation == header.generation
            else { continue }  // reset meanwhile: try again
            if let position, !isContinued { countLost(&found, since: position) }
            return found
        }
        throw SyncError(
            .busy, "the WAL is reset too often", hint: "Try again in a moment")
    }

    /// Compares what was found with what the wal-index counted since `position`.
    ///
    /// The salts do not say how many resets there were: a connection that never made one draws two
    /// new random numbers.
    private func countLost(_ found: inout Collection, since position: WalPosition) {
        let counted = Int(
            Int32(bitPattern: found.header.changeCount &- position.changeCount))
        let lost = counted - found.scan.commits.count
        if lost == 0 { return }
        if lost == -1, found.oldCount > 0, found.oldCount == found.scan.commits.count {
            // A writer died after its last frame and before it published the commit: it never was
            // one.
            found.scan.removeLast()
            found.oldCount -= 1
            return
        }
        found.gap = found.oldCount
    }

    /// Turns commits into boundaries and moves `position` to the last one that is in the snapshot
    /// for certain.
    private func assign(_ found: Collection, after last: Int64, newest: Int64) throws {
        var last = last
        var isExact = true
        var gap = found.gap
        if let base = found.base, base <= newest {
            // What was before the WAL is one transaction, or none when the caller has it; nothing
            // is lost in between.
            if base > last {
                known.append(Boundary(last: base, isExact: false))
                last = base
            }
            gap = nil
            if last == newest { return }
        }
        let start = position
        for (number, commit) in found.scan.commits.enumerated() {
            if number == gap { isExact = false }
            guard let end = try lastRow(of: commit, in: found.scan, after: last) else { continue }
            last = end
            known.append(Boundary(last: end, isExact: isExact))
            isExact = true
            if number < found.oldCount {
                position = start.map {
                    $0.advanced(
                        to: commit.frame, checksum: commit.checksum,
                        changeCount: $0.changeCount &+ UInt32(number + 1))
                }
            } else {
                let later = UInt32(found.scan.commits.count - number - 1)
                position = WalPosition(
                    found.header, frame: commit.frame, checksum: commit.checksum,
                    changeCount: found.header.changeCount &- later)
            }
            if last == newest { return }
        }
        known.append(Boundary(last: newest, isExact: false))
    }

    /// The greatest row of the log that `commit` wrote as the end of a page.
    private func lastRow(
        of commit: WalScan.Commit, in scan: WalScan, after last: Int64
    ) throws -> Int64? {
        let ends = scan.ends[commit.ends].filter { $0.seq > last }.sorted { $0.seq > $1.seq }
        for end in ends {
            let isRow = try scan.records.withUnsafeBytes {
                try rows.contains(
                    end.seq, beginningWith: UnsafeRawBufferPointer(rebasing: $0[end.record]))
            }
            if isRow { return end.seq }
        }
        return nil
    }

    /// Passes over commits that were made before the snapshot and, as all its rows are assigned,
    /// appended nothing.
    private func advance(_ present: WalHeader?) {
        guard let before else { return }
        guard let position else {
            self.position = WalPosition(before)
            return
        }
        let isLater: Bool
        if before.generation == position.generation {
            isLater = before.frameCount > position.frame
        } else if position.generation == present?.generation {
            isLater = false
        } else {
            isLater = true
        }
        if isLater { self.position = WalPosition(before) }
    }

    // MARK: Rollback modes

    fileprivate struct RollbackCounter {
        var value: UInt32
        var ownCommits: UInt32
    }

    /// Every commit adds one to the file's change counter; it is that of
    /// the transaction that is read.
    private func readCounter(_ counter: UInt32, after last: Int64, newest: Int64) {
        let commits = rollback.map { counter &- $0.value &- $0.ownCommits }
        if newest > last { known.append(Boundary(last: newest, isExact: commits == 1)) }
        rollback = RollbackCounter(value: counter, ownCommits: 0)
    }

    /// Bytes 18 and 24 of the file's header:
    /// https://www.sqlite.org/fileformat2.html#the_database_header
    private func databaseHeader() throws -> (isWal: Bool, changeCounter: UInt32) {
        try withUnsafeTemporaryAllocation(byteCount: 100, alignment: 8) { buffer in
            guard let file = SQLiteFile.database(connection), file.read(into: buffer, at: 0) else {
                throw SyncError(.notADatabase, "the header of the database cannot be read")
            }
            let bytes = UnsafeRawBufferPointer(buffer)
            return (bytes[18] == 2, RecordReader.word32(bytes, at: 24))
        }
    }
}
