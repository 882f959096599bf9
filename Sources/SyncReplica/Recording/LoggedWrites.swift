import SyncCore
import SyncMerge
import SyncValues

/// What several transactions wrote, by row: the same as ``CommitConsolidation`` where no key is
/// changed, or used more than once again after a delete.
///
/// Arrays without an object for each row: 110 bytes for a row with a number for a key that one
/// transaction wrote, measured with its identity in ``LocalLane`` and its place in the header. Of
/// many changes these are the rows of a *window*: all that was written into the rows that some
/// changes, which follow each other, are about. A row begins in the window of its first change.
///
/// A class: it is asked for each row, and a copy of it would retain all of its arrays.
final class LoggedWrites {
    /// A place in the changes of a recording.
    struct Cursor: Comparable {
        /// Position of the transaction.
        var place = 0
        /// Position of the change in it.
        var index = 0

        static func < (left: Cursor, right: Cursor) -> Bool {
            (left.place, left.index) < (right.place, right.index)
        }
    }

    private struct Row {
        /// The key, where it is one integer; else its place in ``LoggedWrites/keys``.
        let number: Int64
        /// The cells that `writer` wrote; what others wrote is in
        /// ``LoggedWrites/laterWriters``.
        var cells = PositionSet()
        let entity: Int32
        let isNumbered: Bool
        /// Whether a change of it was noted.
        var isNoted = false
        /// Whether it has changes before the window, and after it.
        var isEarlier = false
        var isLater = false
        /// The place of its insert in ``LoggedWrites/births``; -1: it was there before.
        var birth: Int32 = -1
        /// The first transaction that wrote into it; -1: none.
        var writer: Int32 = -1
    }

    private struct Birth {
        let birth: ObjectBirth
        let inserter: Int32
    }

    /// What a transaction did to a row.
    struct Change {
        private let packedRow: Int32
        private let written: PositionSet

        fileprivate static func insert(_ row: Int) -> Change {
            Change(packedRow: ~Int32(row), written: PositionSet())
        }

        fileprivate static func update(_ row: Int, cells: PositionSet) -> Change {
            Change(packedRow: Int32(row), written: cells)
        }

        fileprivate static func delete(_ row: Int) -> Change {
            Change(packedRow: Int32(row), written: .none)
        }

        private init(packedRow: Int32, written: PositionSet) {
            self.packedRow = packedRow
            self.written = written
        }

        var kind: ChangeKind {
            packedRow < 0 ? .insert : written == .none ? .delete : .update
        }
        /// Position of the row.
        var row: Int { Int(packedRow < 0 ? ~packedRow : packedRow) }
        /// The cells that an update wrote.
        var cells: PositionSet { kind == .update ? written : PositionSet() }
    }

    private var rows: [Row] = []
    private var births: [Birth] = []
    private var keys: [RowKey] = []
    /// The changes of the window, those of the first transaction first.
    private var changes: [Change] = []
    /// Where those of each transaction begin, from ``start`` on, and where the last ones end.
    private var starts: [Int] = [0]
    /// Where the window begins and ends.
    let start: Cursor
    private(set) var end: Cursor
    /// Whether no change follows it.
    private(set) var isLast = false
    /// By row, of those that several transactions wrote: what the later ones wrote, in order.
    private var laterWriters: [Int32: [(writer: Int32, cells: PositionSet)]] = [:]
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
    /// By entity of the log: the cell of each column.
    private var cellsOfColumns: [Int64: [Int?]] = [:]

    /// - Parameters:
    ///   - start: where the window begins.
    ///   - changesMax: the most changes that it has.
    /// - Throws: ``LocalLaneReason`` for a change that needs a view; `corrupt`, `badData` for
    ///   changes that cannot be read; SQLite errors.
    /// - Complexity: O(changes of the recording)
    init(
        _ recording: LocalRecording, from unrecorded: UnrecordedTransactions,
        entities: [StatedEntity?], start: Cursor = Cursor(), changesMax: Int = .max
    ) throws {
        self.entities = entities
        self.start = start
        end = Cursor(place: recording.entries.count)
        schema = recording.schema.merge
        numbered = Array(repeating: [:], count: entities.count)
        for place in start.place..<recording.entries.count {
            if changes.count == changesMax { end = min(end, Cursor(place: place)) }
            if end <= Cursor(place: place) { break }
            let entry = recording.entries[place]
            try forEachChange(at: place, of: recording, from: unrecorded) {
                cursor, change, key, logged in
                guard cursor >= start, cursor < end else { return }
                if changes.count == changesMax {
                    end = cursor
                } else {
                    changes.append(
                        try note(change, of: key, logged, by: Int32(place), entry))
                }
            }
            starts.append(changes.count)
        }
        isLast = end == Cursor(place: recording.entries.count)
        if !isWhole { try readWholeRows(recording, from: unrecorded) }
        cellsOfColumns = [:]
    }

    /// Whether the window has all changes.
    var isWhole: Bool { isLast && start == Cursor() }

    /// Reads all changes of the rows of the window.
    private func readWholeRows(
        _ recording: LocalRecording, from unrecorded: UnrecordedTransactions
    ) throws {
        forgetWrites()
        for place in recording.entries.indices {
            let entry = recording.entries[place]
            try forEachChange(at: place, of: recording, from: unrecorded, isKnown: true) {
                cursor, change, key, logged in
                guard let row = row(at: key) else { return }
                let noted = try note(change, of: key, logged, by: Int32(place), entry)
                if cursor < start {
                    rows[row].isEarlier = true
                } else if cursor >= end {
                    rows[row].isLater = true
                } else {
                    changes.append(noted)
                }
            }
            if places.contains(place) { starts.append(changes.count) }
        }
    }

    /// - Parameter isKnown: whether only changes of rows that are known are wanted.
    private func forEachChange(
        at place: Int, of recording: LocalRecording, from unrecorded: UnrecordedTransactions,
        isKnown: Bool = false,
        _ body: (Cursor, NetChange, RowKey, LoggedTables.Place) throws -> Void
    ) throws {
        let entry = recording.entries[place]
        var index = -1
        var logged: LoggedTables.Place?
        // Not a copy of what grows meanwhile.
        let known = isKnown ? numbered : []
        try unrecorded.forEachChange(of: entry) { entity, key in
            index += 1
            logged = try recording.tables.find(entity)
            guard let logged else { return false }
            guard isKnown, case .integer(let number) = key, entity.keyCount == 1 else {
                return true
            }
            return known[logged.position][number] != nil
        } _: { change in
            guard let logged else { return }
            try body(
                Cursor(place: place, index: index), change, try key(of: change, logged), logged)
        }
    }

    /// Keeps the keys of the rows alone.
    private func forgetWrites() {
        for row in rows.indices {
            rows[row] = Row(
                number: rows[row].number, entity: rows[row].entity, isNumbered: rows[row].isNumbered
            )
        }
        (births, changes, starts) = ([], [], [0])
        (laterWriters, deleters, recreated) = ([:], [:], [])
    }

    /// Gives back the memory of all rows.
    func removeAll() {
        (rows, keys, numbered, keyed) = ([], [], [], [:])
        forgetWrites()
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
        return RowKey(entity: Int(row.entity), [.integer(row.number)])
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

    /// The transactions of the window, of the first and of the last maybe some of the changes.
    var places: Range<Int> { start.place..<(end.index > 0 ? end.place + 1 : end.place) }

    /// The changes of a transaction in the window, in order.
    func changes(of place: Int) -> ArraySlice<Change> {
        changes[starts[place - start.place]..<starts[place - start.place + 1]]
    }

    /// Whether a row has changes before the window.
    func isEarlier(_ row: Int) -> Bool { rows[row].isEarlier }

    /// Whether a row has changes after the window.
    func isLater(_ row: Int) -> Bool { rows[row].isLater }

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
        if !laterWriters.isEmpty,
            let later = laterWriters[Int32(row)]?.last(where: { $0.cells.contains(cell) })
        {
            return Int(later.writer)
        }
        return rows[row].cells.contains(cell) ? Int(rows[row].writer) : nil
    }

    // MARK: Reading

    private func key(of change: NetChange, _ logged: LoggedTables.Place) throws -> RowKey {
        guard let entity = entities[logged.position] else { throw LocalLaneReason.entity }
        let values = change.key.values
        guard values.count == entity.key.count, !values.contains(.null) else {
            throw LocalLaneReason.key
        }
        if case .renumbered = change.cause { throw LocalLaneReason.key }
        return schema.key(logged.position, values)
    }

    private func note(
        _ change: NetChange, of key: RowKey, _ logged: LoggedTables.Place, by writer: Int32,
        _ entry: UnrecordedTransactions.Entry
    ) throws -> Change {
        let row = try row(at: key) ?? append(key)
        let isFirst = !rows[row].isNoted
        rows[row].isNoted = true
        if change.kind == .insert {
            let birth = ObjectBirth(
                seq: change.seq,
                time: entry.time(change.written.first?.ageMilliseconds ?? 0))
            births.append(Birth(birth: birth, inserter: writer))
            if isFirst { rows[row].birth = Int32(births.count - 1) } else { try recreate(row) }
            return .insert(row)
        }
        if change.kind == .delete {
            guard deleter(of: row) == nil else { throw LocalLaneReason.delete }
            deleters[Int32(row)] = writer
            return .delete(row)
        }
        let cells = cells(of: change, logged)
        if let entity = entities[key.entity], cells.intersects(entity.keyCells) {
            throw LocalLaneReason.key
        }
        note(cells, of: row, by: writer)
        return .update(row, cells: cells)
    }

    private func append(_ key: RowKey) throws -> Int {
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
                number: number ?? Int64(keys.count - 1), entity: Int32(key.entity),
                isNumbered: number != nil))
        return row
    }

    /// The newest birth is that of a row that was deleted.
    private func recreate(_ row: Int) throws {
        guard rows[row].birth < 0, deleter(of: row) != nil else { throw LocalLaneReason.delete }
        rows[row].birth = Int32(births.count - 1)
        (rows[row].cells, rows[row].writer) = (PositionSet(), -1)
        laterWriters[Int32(row)] = nil
        recreated.insert(Int32(row))
    }

    private func note(_ cells: PositionSet, of row: Int, by writer: Int32) {
        if rows[row].writer < 0 || rows[row].writer == writer {
            rows[row].writer = writer
            rows[row].cells.formUnion(cells)
        } else {
            laterWriters[Int32(row), default: []].append((writer, cells))
        }
    }

    /// The cells that an update wrote.
    private func cells(of change: NetChange, _ logged: LoggedTables.Place) -> PositionSet {
        let known = cellsOfColumns(of: change.entity.id, logged)
        var cells = PositionSet()
        for (index, word) in change.mask.words.enumerated() {
            var rest = word
            while rest != 0 {
                let column = index * ColumnMask.bitsPerWord + rest.trailingZeroBitCount
                if column < known.count, let cell = known[column] { cells.insert(cell) }
                rest &= rest - 1
            }
        }
        return cells
    }

    /// The cell of each column of an entity of the log.
    private func cellsOfColumns(of entity: Int64, _ logged: LoggedTables.Place) -> [Int?] {
        if let known = cellsOfColumns[entity] { return known }
        let cells = schema.entities[logged.position].cellOfColumn
        let found = logged.columns.map { column in column.flatMap { cells[$0] } }
        cellsOfColumns[entity] = found
        return found
    }
}
