import SyncMerge
import SyncStorage
import SyncValues

/// Gives another number to the rows whose number this replica claimed and lost to an earlier claim,
/// within the transaction that shows the loss: so that the row moves from the old number to the new
/// one at once, and is never shown here under the number in between.
///
/// Only the replica that stated a claim states another one: so replicas never disagree about it,
/// and it ends. The numbers are above all that are known here.
///
/// And to references to nothing whose number is that of a row here, where a UNIQUE does not allow
/// both (``LooseNumbers``). Which row has a number is known on each replica alone: so the one that
/// would have to refuse a row states it, and then all show the same. Several that state it at the
/// same time state the same number.
///
/// Invariant: ``recorder`` has the facts of the last call of ``state(after:view:)``.
final class Renumbering {
    /// The facts, under a transaction of their own; nil: none are needed.
    private(set) var recorder: FactRecorder?

    /// By row and column, how often the number of a reference to nothing was replaced.
    private var steps: [ObjectUID: [Int: UInt32]] = [:]
    /// By row and column, references that are stated again, after another replica took their number
    /// for one that leads to nothing.
    private var restored: [ObjectUID: [Int: Field]] = [:]

    /// The versions that these numbers take the place of, by row.
    private var replaced: [ObjectUID: [ConflictStorage.Entry]] = [:]

    private let transaction: MergeTransaction
    private let former: FormerReplicas
    /// The transaction's name: allocated once, however often the region grows.
    private var name: (dot: Dot, time: HybridTime)?

    private var storage: ReplicaStorage { transaction.storage }

    /// - Throws: SQLite errors; `badData` for a setting that cannot be read.
    init(_ transaction: MergeTransaction) throws {
        self.transaction = transaction
        former = try FormerReplicas(
            transaction.settings.value(.former), present: transaction.identity.replica)
    }

    /// The rows of a view that have to be renumbered here.
    func rows(of view: View) -> [ObjectUID] { view.lostNumbers(of: former.isOwn) }

    /// The state with the new numbers; nil where it needs none.
    /// - Throws: SQLite errors.
    /// - Complexity: O(objects of the state)
    func state(after state: MergeState, view: View) throws -> MergeState? {
        recorder = nil
        let rows = rows(of: view)
        if rows.isEmpty, steps.isEmpty, restored.isEmpty { return nil }
        let name = name ?? transaction.nextTransaction()
        self.name = name
        var recorder = FactRecorder(state, dot: name.dot, time: name.time)
        var supplies: [Int: Supply] = [:]
        try recorder.renumber(rows, in: view) { entity in
            var supply = try supplies[entity] ?? Supply(of: entity, state: state, view: view)
            defer { supplies[entity] = supply }
            return try next(after: &supply, entity: entity)
        }
        recorder.replaceLooseNumbers(steps, in: view)
        recorder.restoreReferences(restored, in: view)
        replaced = steps.keys.reduce(into: [:]) { replaced, name in
            replaced[name] = entries(of: name, in: state, view: view, by: recorder.header.dot)
        }
        self.recorder = recorder
        return recorder.state
    }

    /// Has references to nothing give way whose numbers would keep a row out of the tables.
    /// - Returns: the rows, sorted: the state has to be computed again with them.
    /// - Complexity: O(rows of the image)
    func replaceLooseNumbers(in image: TableImage, of view: View) -> [ObjectUID] {
        let found = LooseNumbers(in: image, of: view, schema: storage.schema.merge).found
        var rows: [ObjectUID] = []
        for (name, column) in found.sorted(by: { $0.key < $1.key }) {
            let step = steps[name]?[column] ?? 0
            if step == LooseNumber.stepsMax { continue }
            steps[name, default: [:]][column] = step + 1
            rows.append(name)
        }
        return rows
    }

    /// Has references lead where they led in the tables of this replica, although another one has
    /// replaced their numbers: a writer without foreign keys named a row, and inserted it later.
    /// Of the row and the number only this replica knows that they belong together.
    /// - Returns: the rows and those that they refer to, sorted: the state has to be computed again
    ///   with them.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(rows of the region)
    func restoreReferences(of view: View, in region: AffectedRegion) throws -> [ObjectUID] {
        var rows: [ObjectUID] = []
        for (key, name) in region.names
        where !storage.schema.merge.entities[key.entity].numberColumns.isEmpty {
            guard steps[name] == nil, restored[name] == nil, let old = region.rows[key],
                let row = view.rows[name]
            else { continue }
            let fields = try references(of: row, before: old, in: region)
            if fields.isEmpty { continue }
            restored[name] = fields
            rows += [name] + fields.values.compactMap(\.target)
        }
        return rows.sorted()
    }

    private func references(
        of row: ShownRow, before old: [Value], in region: AffectedRegion
    ) throws -> [Int: Field] {
        let entity = storage.schema.merge.entities[row.entity]
        var fields: [Int: Field] = [:]
        for reference in entity.references {
            let isReplaced = reference.columns.contains { column in
                entity.numberColumns.contains(column) && row.showsLooseNumber(column, of: entity)
                    && isOwn(old[column], in: column, of: row, entity, in: region)
            }
            guard isReplaced else { continue }
            let key = storage.schema.merge.key(reference.target, reference.columns.map { old[$0] })
            guard let target = try storage.objects.uid(of: key),
                let life = try storage.objects.object(target)?.record.life,
                life.contains(where: { $0.kind == .created && former.isOwn($0.dot) })
            else { continue }
            for (part, column) in reference.columns.enumerated() {
                fields[column] = .reference(target, part: part)
            }
        }
        return fields
    }

    /// Whether this replica has stated a value of a column, and not as a reference.
    private func isOwn(
        _ value: Value, in column: Int, of row: ShownRow, _ entity: MergeEntity,
        in region: AffectedRegion
    ) -> Bool {
        guard let cell = entity.cellOfColumn[column], let source = row.sources[cell],
            let place = entity.cells[cell].firstIndex(of: column),
            let versions = region.state.objects[source.object]?.cells[cell]
        else { return false }
        return versions.contains { former.isOwn($0.dot) && $0.value[place] == .value(value) }
    }

    /// The versions of a row whose numbers were replaced, as the conflict log has them.
    private func entries(
        of name: ObjectUID, in state: MergeState, view: View, by dot: Dot
    ) -> [ConflictStorage.Entry] {
        guard let row = view.rows[name], let columns = steps[name]?.keys else { return [] }
        let entity = state.schema.entities[row.entity]
        let cells = Set(columns.compactMap { entity.cellOfColumn[$0] }).sorted()
        return cells.compactMap { cell in
            guard let (id, version) = state.statedVersion(of: row, cell: cell) else { return nil }
            return ConflictStorage.Entry(
                id: id, entity: row.entity, reason: .lost,
                value: ConflictStorage.encoded(version.value.map(MergeState.decoded)),
                key: nil, met: dot)
        }
    }

    /// Logs the numbers that were replaced as conflicts that are closed.
    /// - Parameter keys: the key of each row.
    /// - Throws: SQLite errors.
    func writeConflicts(keys: [ObjectUID: [Value]]) throws {
        for (name, entries) in replaced.sorted(by: { $0.key < $1.key }) {
            for entry in entries {
                try storage.conflicts.writeClosed(
                    ConflictStorage.Entry(
                        id: entry.id, entity: entry.entity, reason: entry.reason,
                        value: entry.value, key: keys[name], met: entry.met),
                    schema: storage.schema.merge, number: storage.history.head)
            }
        }
    }

    /// Whether the number of a reference to nothing was replaced, which may be a part of its key.
    func hasReplacedLooseNumber(of row: ObjectUID) -> Bool { steps[row] != nil }

    /// The transaction as history and batches describe it; nil: there is none.
    var entry: Batch.Transaction? {
        recorder.map { recorder in
            var entry = Batch.Transaction(recorder.header)
            entry.flags = UInt64(Transaction.Flags.renumbered.rawValue)
            entry.changes = recorder.changes
            return entry
        }
    }

    // MARK: Numbers

    /// The numbers of an entity that are in use in a view.
    private struct Supply {
        var used: Set<Int64> = []
        /// Up to here all numbers are taken, where the greatest one is.
        var searched: Int64 = 0
        let greatestClaim: Int64

        init(of entity: Int, state: MergeState, view: View) throws {
            let column = state.schema.entities[entity].key[0]
            for row in view.rows.values where row.entity == entity {
                if case .value(.integer(let number)) = row.fields[column] { used.insert(number) }
            }
            greatestClaim = state.greatestClaim(of: entity) ?? 0
        }
    }

    /// One more than the greatest number; where that is the greatest there is, the least free one.
    private func next(after supply: inout Supply, entity: Int) throws -> Int64 {
        let greatest = try max(
            storage.greatestNumber(of: entity), supply.greatestClaim, supply.used.max() ?? 0)
        var number: Int64
        if greatest < .max {
            number = greatest + 1
        } else {
            number = supply.searched
            repeat {
                // Free in the tables, it may be the number of a row that is about to be shown.
                number = try storage.leastFreeNumber(of: entity, from: number + 1)
            } while supply.used.contains(number) && number < .max
            supply.searched = number
        }
        supply.used.insert(number)
        return number
    }
}

extension ReplicaStorage {
    /// The greatest number of an entity that a row has or had, or that is reserved; at least 0.
    /// - Throws: SQLite errors.
    func greatestNumber(of entity: Int) throws -> Int64 {
        let select = try statements.statement(schema.tables[entity].greatestNumber)
        defer { select.reset() }
        let shown = try select.step() ? select.integer(0) : 0
        return try max(0, shown, objects.greatestNumber(of: entity))
    }

    /// The least number from `number` on that no row of an entity has.
    /// - Throws: SQLite errors.
    /// - Complexity: O(rows that follow each other from there)
    fileprivate func leastFreeNumber(of entity: Int, from number: Int64) throws -> Int64 {
        let select = try statements.statement(schema.tables[entity].leastFreeNumber)
        select.bind(number, at: 1)
        defer { select.reset() }
        return try select.step() ? select.integer(0) : number
    }
}
