import SyncMerge

/// Edits of replicas that did not exchange for hours: several between two merges, so that a replica
/// records them at once, most of them without knowing where one commit ended.
///
/// Of concurrent writes of one column the one that was written last is shown, by the clock of the
/// machine that wrote it; under `firstWriter` the one that was written first. Only of rows that
/// nothing repairs, and of columns that are a cell of their own: there nothing else decides.
struct LateEdits {
    private struct Cell: Hashable {
        let object: ObjectUID
        let column: Int
    }

    private struct Write {
        let wall: Int64
        let text: String
    }

    /// Longer than a part of commits that ran together spans, with a skew that clocks follow.
    private static let pauses: [Int64] = [12_000, 60_000, 3_600_000]

    private let entities: [MergeEntity]
    private let spared: Set<String>
    /// By cell, the last write of each replica.
    private var written: [Cell: [String: Write]] = [:]
    /// Cells that a replica wrote whose clock is ahead of its machine's: a copy that stated what
    /// was written on a machine whose clock is ahead. Its writes are later than they were.
    private var undecided: Set<Cell> = []
    private var random: SeededRandom
    private var count = 0

    /// Draws whether there are such edits.
    /// - Returns: nil: none in this seed.
    /// - Parameter spared: columns that a UNIQUE may come over, which decides then.
    init?(_ schema: SimulatedSchema, seed: UInt64, sparing spared: Set<String>) {
        var random = SeededRandom(seed: seed &+ 0x11_0000_0000)
        guard random.chance(0.5) else { return nil }
        self.spared = spared
        entities = schema.merge.entities
        self.random = random
    }

    /// Writes. All replicas show the same before.
    /// - Parameter reading: advances the clock, and reads the one of a replica.
    mutating func run(
        _ stores: [SimulatedStore], reading: (_ pause: Int64, _ store: Int) -> Int64
    ) throws {
        let cells = try candidates(in: stores[0])
        guard !cells.isEmpty else { return }
        let chosen = (0..<3).map { _ in random.pick(cells) }
        for _ in 0..<random.pick([2, 4, 6, 10]) {
            let index = random.below(stores.count)
            let pause = random.pick(Self.pauses)
            try write(random.pick(chosen), in: stores[index], wall: reading(pause, index))
        }
    }

    /// The single columns of rows that show one object with all that it has.
    private func candidates(in store: SimulatedStore) throws -> [Cell] {
        let plain = try store.database.run("SELECT uid FROM syncd_object WHERE state = 0") ?? []
        let uids = Set(plain.map { $0[0] })
        return try store.names().sorted { $0.value < $1.value }.flatMap { key, uid -> [Cell] in
            guard uids.contains(.blob(uid.bytes)) else { return [] }
            let entity = entities[key.entity]
            return store.schema.roles[key.entity].indices.filter { column in
                guard store.schema.roles[key.entity][column] == .token,
                    !spared.contains(entity.columns[column].name),
                    let cell = entity.cellOfColumn[column], entity.cells[cell] == [column]
                else { return false }
                return true
            }.map { Cell(object: uid, column: $0) }
        }
    }

    private mutating func write(_ cell: Cell, in store: SimulatedStore, wall: Int64) throws {
        guard let key = try store.names().first(where: { $0.value == cell.object })?.key else {
            return
        }
        count += 1
        let text = "late \(count)"
        store.wall.milliseconds = wall
        try store.database.run("BEGIN IMMEDIATE")
        let sql = store.schema.update(key.entity, columns: [cell.column])
        try store.database.run(sql, with: [.text(text)] + key.values)
        try store.willCommit()
        try store.database.run("COMMIT")
        try store.remember()
        let ahead = "SELECT value >> 16 > \(wall) FROM syncd_meta WHERE key = 'clock'"
        if try store.database.run(ahead) == [[1]] { undecided.insert(cell) }
        written[cell, default: [:]][store.path] = Write(wall: wall, text: text)
    }

    /// Checks what a replica shows when everything has been exchanged.
    func check(_ store: SimulatedStore) throws {
        let names = try store.names()
        let policies = try store.replica.policies()
        for (key, row) in try store.read() {
            guard let object = names[key] else { continue }
            for column in row.indices {
                let cell = Cell(object: object, column: column)
                guard let writes = written[cell]?.values, !undecided.contains(cell) else {
                    continue
                }
                let entity = entities[key.entity]
                let name = entity.columns[column].name
                // The replica has them under the present names.
                let ofTable = policies.entities[store.schema.tableNames[key.entity]]?.columns
                let policy = ofTable?[store.schema.columnNames[key.entity][column]]
                let ordered = writes.sorted { $0.wall < $1.wall }
                let expected: Write?
                switch policy ?? .lastWriter {
                case .lastWriter: expected = ordered.last
                case .firstWriter: expected = ordered.first
                default: continue
                }
                guard let expected, row[column] != .text(expected.text) else { continue }
                throw SimulationFailure(
                    "\(store.path) shows \(row[column]) in \(entity.name).\(name), and not "
                        + "\(expected.text), of \(ordered)")
            }
        }
    }
}
