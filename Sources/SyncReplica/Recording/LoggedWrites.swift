import SyncCore
import SyncMerge
import SyncValues

/// What several transactions wrote, by row: the same as ``CommitConsolidation`` where no key is
/// changed, or used more than once again after a delete.
///
/// Arrays without an object for each row: 110 bytes for a row with a number for a key that one
/// transaction wrote, measured with its identity in ``LocalLane`` and its place in the header.
struct LoggedWrites {
    private struct Row {
        /// The key, where it is one integer; else its place in ``LoggedWrites/keys``.
        let number: Int64
        /// The cells that `writer` wrote, as bits; what others wrote is in
        /// ``LoggedWrites/laterWriters``.
        var cells: UInt64
        let entity: Int32
        let isNumbered: Bool
        /// The place of its insert in ``LoggedWrites/births``; -1: it was there before.
        var birth: Int32
        /// The first transaction that wrote into it; -1: none.
        var writer: Int32
    }

    private struct Birth {
        let birth: ObjectBirth
        let inserter: Int32
    }

    /// What a transaction did to a row.
    struct Change {
        private let packedRow: Int32
        private let bits: UInt64

        /// No row has so many cells.
        private static let deleteBit = UInt64(1) << 63

        fileprivate static func insert(_ row: Int) -> Change {
            Change(packedRow: ~Int32(row), bits: 0)
        }

        fileprivate static func update(_ row: Int, cells: UInt64) -> Change {
            Change(packedRow: Int32(row), bits: cells)
        }

        fileprivate static func delete(_ row: Int) -> Change {
            Change(packedRow: Int32(row), bits: deleteBit)
        }

        private init(packedRow: Int32, bits: UInt64) {
            self.packedRow = packedRow
            self.bits = bits
        }

        var kind: ChangeKind {
            packedRow < 0 ? .insert : bits == Self.deleteBit ? .delete : .update
        }
        /// Position of the row.
        var row: Int { Int(packedRow < 0 ? ~packedRow : packedRow) }
        /// The cells that an update wrote, as bits.
        var cells: UInt64 { kind == .update ? bits : 0 }
    }

    private var rows: [Row] = []
    private var births: [Birth] = []
    private var keys: [RowKey] = []
    /// All changes, those of the first transaction first.
    private var changes: [Change] = []
    /// Where those of each transaction begin, and where the last ones end.
    private var starts: [Int] = [0]
    /// By row, of those that several transactions wrote: what the later ones wrote, in order.
    private var laterWriters: [Int32: [(writer: Int32, cells: UInt64)]] = [:]
    /// By row: the transaction that deleted it.
    private var deleters: [Int32: Int32] = [:]
    /// The rows that were deleted, and then inserted.
    private var recreated: Set<Int32> = []

    private let schema: MergeSchema
    private let entities: [StatedEntity?]
    /// By entity: the rows whose key is one integer.
    private var numbered: [[Int64: Int32]]
    /// All others.
    private var keyed: [RowKey: Int32] = [:]
    /// By entity of the log: the cell of each column, as a bit.
    private var cellBits: [Int64: [UInt64]] = [:]

    /// - Throws: ``LocalLaneReason`` for a change that needs a view; `corrupt`, `badData` for
    ///   changes that cannot be read; SQLite errors.
    /// - Complexity: O(changes)
    init(
        _ recording: LocalRecording, from unrecorded: UnrecordedTransactions,
        entities: [StatedEntity?]
    ) throws {
        self.entities = entities
        schema = recording.schema.merge
        numbered = Array(repeating: [:], count: entities.count)
        for (place, entry) in recording.entries.enumerated() {
            try unrecorded.forEachChange(of: entry) { change in
                guard let logged = try recording.tables.find(change.entity) else { return }
                try add(change, of: entry, at: Int32(place), logged)
            }
            starts.append(changes.count)
        }
        cellBits = [:]
    }

    // MARK: Rows

    /// The number of rows that were written; each has a position.
    var count: Int { rows.count }

    /// The entity of a row.
    func entity(of row: Int) -> Int { Int(rows[row].entity) }

    /// The key of a row.
    func key(of row: Int) -> RowKey {
        let row = rows[row]
        guard row.isNumbered else { return keys[Int(row.number)] }
        return schema.key(Int(row.entity), [.integer(row.number)])
    }

    /// The insert that a row began with; nil: it was there before.
    func birth(of row: Int) -> ObjectBirth? {
        let place = Int(rows[row].birth)
        return place < 0 ? nil : births[place].birth
    }

    /// The position of the row that has a key.
    func row(at key: RowKey) -> Int? {
        if let number = Self.number(of: key) { return numbered[key.entity][number].map(Int.init) }
        return keyed[key].map(Int.init)
    }

    private static func number(of key: RowKey) -> Int64? {
        guard key.values.count == 1, case .integer(let number) = key.values[0] else { return nil }
        return number
    }

    // MARK: Who wrote what

    /// The changes of a transaction, in order.
    func changes(of place: Int) -> ArraySlice<Change> { changes[starts[place]..<starts[place + 1]] }

    /// The last transaction that wrote a cell of a row: its insert, where none did since; nil: none
    /// of them.
    func writer(of cell: Int, row: Int) -> Int? { update(of: cell, row: row) ?? inserter(of: row) }

    /// Whether a transaction wrote a cell of a row after its insert, if that is among them.
    func isWritten(_ cell: Int, row: Int) -> Bool { update(of: cell, row: row) != nil }

    /// The transaction that inserted a row; nil: it was there before.
    func inserter(of row: Int) -> Int? {
        let place = Int(rows[row].birth)
        return place < 0 ? nil : Int(births[place].inserter)
    }

    /// The transaction that deleted a row, maybe before another one inserted it again.
    func deleter(of row: Int) -> Int? {
        deleters.isEmpty ? nil : deleters[Int32(row)].map(Int.init)
    }

    /// Whether a row that was there before was deleted and inserted again.
    func isRecreated(_ row: Int) -> Bool {
        !recreated.isEmpty && recreated.contains(Int32(row))
    }

    /// Whether a row that was not there before was inserted and deleted.
    func isVanished(_ row: Int) -> Bool {
        rows[row].birth >= 0 && deleter(of: row) != nil && !isRecreated(row)
    }

    private func update(of cell: Int, row: Int) -> Int? {
        let bit = UInt64(1) << UInt64(cell)
        if !laterWriters.isEmpty,
            let later = laterWriters[Int32(row)]?.last(where: { $0.cells & bit != 0 })
        {
            return Int(later.writer)
        }
        return rows[row].cells & bit == 0 ? nil : Int(rows[row].writer)
    }

    // MARK: Reading

    private mutating func add(
        _ change: NetChange, of entry: UnrecordedTransactions.Entry, at place: Int32,
        _ logged: LoggedTables.Place
    ) throws {
        guard let entity = entities[logged.position] else { throw LocalLaneReason.entity }
        let values = change.key.values
        guard values.count == entity.key.count, !values.contains(.null) else {
            throw LocalLaneReason.key
        }
        if case .renumbered = change.cause { throw LocalLaneReason.key }
        let key = schema.key(logged.position, values)
        let known = row(at: key)
        if change.kind == .insert {
            let birth = ObjectBirth(
                seq: change.seq, time: entry.time(change.written.first?.ageMilliseconds ?? 0))
            births.append(Birth(birth: birth, inserter: place))
            if let known { try recreate(known) }
            changes.append(.insert(try known ?? append(key, birth: Int32(births.count - 1))))
            return
        }
        if change.kind == .delete {
            let row = try known ?? append(key, birth: -1)
            guard deleter(of: row) == nil else { throw LocalLaneReason.delete }
            deleters[Int32(row)] = place
            changes.append(.delete(row))
            return
        }
        let cells = cells(of: change, logged, schema.entities[logged.position])
        guard cells & entity.keyCells == 0 else { throw LocalLaneReason.key }
        let row = try known ?? append(key, birth: -1)
        note(cells, of: row, by: place)
        changes.append(.update(row, cells: cells))
    }

    private mutating func append(_ key: RowKey, birth: Int32) throws -> Int {
        let row = rows.count
        // Two thousand million rows: what follows would take more memory than there is.
        guard row < Int32.max else { throw LocalLaneReason.entity }
        let number = Self.number(of: key)
        if let number {
            numbered[key.entity][number] = Int32(row)
        } else {
            keyed[key] = Int32(row)
            keys.append(key)
        }
        rows.append(
            Row(
                number: number ?? Int64(keys.count - 1), cells: 0, entity: Int32(key.entity),
                isNumbered: number != nil, birth: birth, writer: -1))
        return row
    }

    /// The newest birth is that of a row that was deleted.
    private mutating func recreate(_ row: Int) throws {
        guard rows[row].birth < 0, deleter(of: row) != nil else { throw LocalLaneReason.delete }
        rows[row].birth = Int32(births.count - 1)
        (rows[row].cells, rows[row].writer) = (0, -1)
        laterWriters[Int32(row)] = nil
        recreated.insert(Int32(row))
    }

    private mutating func note(_ cells: UInt64, of row: Int, by writer: Int32) {
        if rows[row].writer < 0 || rows[row].writer == writer {
            rows[row].writer = writer
            rows[row].cells |= cells
        } else {
            laterWriters[Int32(row), default: []].append((writer, cells))
        }
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
