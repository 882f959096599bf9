import SyncValues

/// The changes of a transaction that is too large to be assembled in memory, in slices.
///
/// The log is read twice: once to find the keys that may have several rows (``KeyMarks``), once to
/// assemble the others, and to note the rows of these keys, which are assembled key by key
/// (``KeyCensus``). Within one transaction changes of different keys do not depend on each other,
/// but for those that name each other, which are assembled together: renumberings, and cascades of
/// objects with several rows. Where there may be such ones all rows are counted before.
///
/// Two bytes of memory for each row, 16 for each one of a key with several; with renumberings and
/// deletes that take others along 16 for each row.
///
/// The slices come in no order: each change has its place in the transaction by its seq. Every call
/// reads a bounded number of rows, within the transaction that the connection is in, and begins
/// where the last one ended: the rows of a committed transaction do not change until they are
/// digested.
final class LargeTransaction {
    /// Rows read by one call.
    private static let stepRowsMax = 20_000
    /// Changes in a slice.
    static let sliceChangesMax = 5_000
    /// Bytes of the rows of a slice.
    private static let sliceBytesMax = 4 << 20

    private enum Phase {
        case marking, counting, singles, groups, linked, finished
    }

    /// Without changes.
    let header: NetTransaction
    private let reader: LogReader
    private let keepsVanished: Bool
    private let sliceChangesMax: Int
    private var phase = Phase.marking
    /// Nil once all rows have to be counted.
    private var marks: KeyMarks?
    private var census = KeyCensus(rowsMax: 0)
    /// The last row that was read in this phase.
    private var position: Int64
    private var nextGroup = 0
    private var passing = PassingDeletes()

    /// - Parameter header: one that was not assembled.
    init(
        _ header: NetTransaction, from reader: LogReader,
        sliceChangesMax: Int = LargeTransaction.sliceChangesMax
    ) {
        self.header = header
        self.sliceChangesMax = sliceChangesMax
        self.reader = reader
        keepsVanished = header.unassembled?.keepsVanished ?? false
        position = header.first - 1
        marks = KeyMarks(rowsMax: rowsMax)
    }

    private var rowsMax: Int64 { header.number - header.first + 1 }

    /// The next changes, or none when the call only counted; nil at the end.
    ///
    /// - Throws: `badData` for an entity that cannot be read; the error of SQLite.
    func nextSlice() throws -> [NetChange]? {
        defer { reader.finish() }
        switch phase {
        case .marking:
            try mark()
            return []
        case .counting:
            try count()
            return []
        case .singles: return try assembleSingles()
        case .groups: return try assembleGroups()
        case .linked:
            phase = .finished
            return try assemble(census.linkedSeqs)
        case .finished: return nil
        }
    }

    private func mark() throws {
        try reader.seek(after: position, upTo: header.number)
        for _ in 0..<Self.stepRowsMax {
            guard let record = try reader.next() else {
                census = KeyCensus(rowsMax: 2 * (marks?.repeatedCount ?? 0))
                return begin(.singles)
            }
            position = record.lastSeq
            guard let entity = record.entity else { continue }
            guard record.kind != .deleting, record.kind != .renumber else {
                marks = nil
                census = KeyCensus(rowsMax: rowsMax)
                return begin(.counting)
            }
            marks?.note(KeyCensus.hash(of: record, entity))
        }
    }

    private func count() throws {
        try reader.seek(after: position, upTo: header.number)
        for _ in 0..<Self.stepRowsMax {
            guard let record = try reader.next() else {
                census.finish()
                return begin(.singles)
            }
            census.count(record)
            position = record.lastSeq
        }
    }

    private func begin(_ phase: Phase) {
        self.phase = phase
        position = header.first - 1
    }

    private func assembleSingles() throws -> [NetChange] {
        var builder = makeBuilder()
        var places: [Int64: PassingDeletes.Place] = [:]
        var bytes = 0
        try reader.seek(after: position, upTo: header.number)
        for _ in 0..<Self.stepRowsMax {
            guard builder.draftCount < sliceChangesMax, bytes < Self.sliceBytesMax else {
                break
            }
            guard let record = try reader.next() else {
                if marks != nil { census.finish(keepingSingles: true) }
                begin(.groups)
                break
            }
            position = record.lastSeq
            guard let entity = record.entity else { continue }
            if let marks {
                if marks.mayRepeat(KeyCensus.hash(of: record, entity)) {
                    census.count(record)
                } else {
                    bytes += record.valueBytes
                    builder.append(record)
                }
                continue
            }
            let place = passing.take(record, of: entity, census: census.deletes)
            // Kind 6 is a part of its delete.
            guard record.kind != .deleting, !census.isShared(record) else { continue }
            bytes += record.valueBytes
            builder.append(record)
            places[record.seq] = place
        }
        return placed(finish(builder), at: places)
    }

    private func placed(
        _ changes: [NetChange], at places: [Int64: PassingDeletes.Place]
    ) -> [NetChange] {
        guard !places.isEmpty else { return changes }
        return changes.map { change in
            guard let place = places[change.seq] else { return change }
            var change = change
            (change.seq, change.cause) = (place.seq, place.cause)
            if !keepsVanished { change.last = change.seq }
            return change
        }
    }

    private func assembleGroups() throws -> [NetChange] {
        var changes: [NetChange] = []
        var rows = 0
        var bytes = 0
        while nextGroup < census.groupCount {
            guard rows < sliceChangesMax, bytes < Self.sliceBytesMax else { return changes }
            let seqs = census.seqs(ofGroup: nextGroup)
            nextGroup += 1
            rows += seqs.count
            changes += try assemble(seqs) { bytes += $0.valueBytes }
        }
        phase = .linked
        return changes
    }

    private func assemble(
        _ seqs: [Int64], noting note: (LogRecord) -> Void = { _ in }
    ) throws -> [NetChange] {
        var builder = makeBuilder()
        for seq in seqs {
            try reader.seek(after: seq - 1, upTo: header.number)
            guard let record = try reader.next(), record.seq == seq else { continue }
            note(record)
            builder.append(record)
        }
        return finish(builder)
    }

    private func finish(_ builder: TransactionBuilder) -> [NetChange] {
        builder.finish(
            isCoalesced: header.flags.contains(.coalesced), endingAt: header.time)
    }

    private func makeBuilder() -> TransactionBuilder {
        TransactionBuilder(keepsVanished: keepsVanished)
    }
}
