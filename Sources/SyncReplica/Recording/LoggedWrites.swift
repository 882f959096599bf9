import SyncCore
import SyncMerge
import SyncValues

/// What several transactions inserted and updated, by row: the same as ``CommitConsolidation`` for
/// transactions without a delete or a change of a key, in arrays without an object for each row.
struct LoggedWrites {
    /// A row that was written.
    struct Row {
        let entity: Int
        let key: RowKey
        /// The insert that it began with; nil: it was there before.
        let birth: ObjectBirth?
        /// Where its places in ``LoggedWrites/writers`` begin, one for each cell.
        fileprivate let start: Int
        /// The transaction that inserted it; -1: it was there before.
        fileprivate let inserted: Int32
    }

    /// What a transaction did to a row.
    struct Change {
        /// Position of the row.
        let row: Int
        /// The cells that were written, as bits; nil: the row was inserted.
        let cells: UInt64?
    }

    private(set) var rows: [Row] = []
    /// All changes, those of the first transaction first.
    private var changes: [Change] = []
    /// Where those of each transaction begin, and where the last ones end.
    private var starts: [Int] = [0]
    /// For each cell of each row the last transaction that wrote it; -1: none.
    private var writers: [Int32] = []

    private let entities: [StatedEntity?]
    /// By entity: the rows whose key is one integer.
    private var numbered: [[Int64: Int]]
    /// All others.
    private var keyed: [RowKey: Int] = [:]
    /// By entity of the log: the cell of each column, as a bit.
    private var cellBits: [Int64: [UInt64]] = [:]

    /// - Throws: ``LocalLaneReason`` for a change that needs a view.
    /// - Complexity: O(changes)
    init(_ recording: LocalRecording, entities: [StatedEntity?]) throws {
        self.entities = entities
        numbered = Array(repeating: [:], count: entities.count)
        for (place, entry) in recording.entries.enumerated() {
            for change in entry.changes {
                guard let logged = recording.tables[change.entity] else { continue }
                try add(change, of: entry, at: Int32(place), logged, recording.schema.merge)
            }
            starts.append(changes.count)
        }
    }

    /// The changes of a transaction, in order.
    func changes(of place: Int) -> ArraySlice<Change> { changes[starts[place]..<starts[place + 1]] }

    /// The last transaction that wrote a cell of a row: its insert, where none did since; nil: none
    /// of them.
    func writer(of cell: Int, row: Int) -> Int? {
        let writer = writers[rows[row].start + cell]
        let last = writer < 0 ? rows[row].inserted : writer
        return last < 0 ? nil : Int(last)
    }

    /// Whether a transaction wrote a cell of a row that was there before.
    func isWritten(_ cell: Int, row: Int) -> Bool { writers[rows[row].start + cell] >= 0 }

    /// The transaction that inserted a row.
    func inserter(of row: Int) -> Int { Int(rows[row].inserted) }

    /// The position of the row that has a key.
    func row(at key: RowKey) -> Int? {
        if key.values.count == 1, case .integer(let number) = key.values[0] {
            return numbered[key.entity][number]
        }
        return keyed[key]
    }

    private mutating func add(
        _ change: NetChange, of entry: UnrecordedTransactions.Entry, at place: Int32,
        _ logged: LoggedTables.Place, _ schema: MergeSchema
    ) throws {
        guard change.kind != .delete else { throw LocalLaneReason.delete }
        guard let entity = entities[logged.position] else { throw LocalLaneReason.entity }
        let values = change.key.values
        guard values.count == entity.key.count, !values.contains(.null) else {
            throw LocalLaneReason.key
        }
        if case .renumbered = change.cause { throw LocalLaneReason.key }
        let key = schema.key(logged.position, values)
        let known = row(at: key)
        if change.kind == .insert {
            guard known == nil else { throw LocalLaneReason.delete }
            let birth = ObjectBirth(
                seq: change.seq, time: entry.time(change.written.first?.ageMilliseconds ?? 0))
            changes.append(
                Change(row: append(key, entity, birth: birth, inserted: place), cells: nil))
            return
        }
        let cells = cells(of: change, logged, schema.entities[logged.position])
        guard cells & entity.keyCells == 0 else { throw LocalLaneReason.key }
        let row = known ?? append(key, entity, birth: nil, inserted: -1)
        var rest = cells
        while rest != 0 {
            writers[rows[row].start + rest.trailingZeroBitCount] = place
            rest &= rest - 1
        }
        changes.append(Change(row: row, cells: cells))
    }

    private mutating func append(
        _ key: RowKey, _ entity: StatedEntity, birth: ObjectBirth?, inserted: Int32
    ) -> Int {
        let row = rows.count
        rows.append(
            Row(
                entity: entity.position, key: key, birth: birth, start: writers.count,
                inserted: inserted))
        writers.append(contentsOf: repeatElement(-1, count: entity.cells.count))
        if key.values.count == 1, case .integer(let number) = key.values[0] {
            numbered[key.entity][number] = row
        } else {
            keyed[key] = row
        }
        return row
    }

    /// The cells that an update wrote, as bits.
    private mutating func cells(
        of change: NetChange, _ logged: LoggedTables.Place, _ entity: MergeEntity
    ) -> UInt64 {
        if cellBits[change.entity.id] == nil {
            cellBits[change.entity.id] = logged.columns.map { column in
                column.flatMap { entity.cellOfColumn[$0] }.map { 1 << UInt64($0) } ?? 0
            }
        }
        guard let bits = cellBits[change.entity.id] else { return 0 }
        var cells = UInt64(0)
        for (index, word) in change.mask.words.enumerated() {
            var rest = word
            while rest != 0 {
                let column = index * ColumnMask.bitsPerWord + rest.trailingZeroBitCount
                if column < bits.count { cells |= bits[column] }
                rest &= rest - 1
            }
        }
        return cells
    }
}
