import SyncMerge
import SyncValues

/// A view as the rows of this replica's tables: every private key has its number here. Shared
/// numbers are those of the view.
///
/// Invariants
/// - A row keeps its number while it is shown here.
/// - Two shown rows of one entity have two numbers.
/// - The number of a hidden object stays reserved until another row takes it: one that is written
///   here or, where the object is deleted, one that has the number at its sender.
/// - A reference to a key that may be spelled in several ways keeps the spelling of its row, as it
///   does in SQLite when the key changes its spelling; unless a CHECK refuses that, or a UNIQUE
///   tells spellings apart: then the row is spelled as the key is.
struct TableImage {
    /// The rows by key.
    private(set) var rows: [RowKey: [Value]] = [:]
    /// The identity of each row.
    private(set) var names: [RowKey: ObjectUID] = [:]
    /// The private numbers, by identity of the row.
    private(set) var numbers: [ObjectUID: Int64] = [:]
    /// Objects that rows refer to and that the view does not show: they may not have been loaded.
    private(set) var missing: Set<ObjectUID> = []
    /// Rows with a declared reference whose value is unknown. A complete region has none: there the
    /// view alone decides that a reference is shown as NULL.
    private(set) var unspelled: Set<ObjectUID> = []
    /// Rows, by their identity, that a constraint refuses because a reference that no foreign key
    /// declares has no value here.
    private(set) var unfit: Set<ObjectUID> = []
    /// The rows that have the key of another one. None of them is among ``rows``.
    private(set) var collisions: [Collision] = []

    /// A row that has the key of another one.
    struct Collision {
        /// The row.
        let name: ObjectUID
        let key: RowKey
        let values: [Value]
        /// What to do about it.
        let error: SyncError
    }

    private let view: View
    private let schema: MergeSchema

    /// Where numbers come from.
    struct Numbering {
        /// The number that an object has or reserves.
        var known: (ObjectUID) -> Int64?
        /// The number that the sender of a batch has for it.
        var hint: (ObjectUID) -> Int64?
        /// Whether a row outside of the view, or a reservation, has the number.
        var isTaken: (_ entity: Int, _ number: Int64, _ by: ObjectUID) throws -> Bool
        /// The greatest number that an entity has or reserves.
        var greatest: (_ entity: Int) throws -> Int64
    }

    /// Computes the rows of a view.
    /// - Parameters:
    ///   - names: the rows as they are shown now.
    ///   - isBoundary: whether a row is around the region: what it refers to need not be in the
    ///     view, and is unchanged.
    ///   - storedRow: the row of an identity as the tables have it: the value of a reference to an
    ///     object outside of the view.
    ///   - formerKey: a value of the key of an object that the view does not show, as it was last
    ///     stated: what a column without a foreign key, where others have one, has in a new row.
    ///   - stored: a value as a column of the tables stores it.
    /// - Throws: `refused` when a table has no free number; what `numbering` throws.
    /// - Complexity: O(rows of the view)
    init(
        of view: View, schema: MergeSchema, before names: [RowKey: ObjectUID],
        numbering: Numbering, isBoundary: (ObjectUID) -> Bool,
        storedRow: (ObjectUID) -> [Value]?,
        formerKey: (_ target: ObjectUID, _ part: Int) -> Value?,
        stored: (_ value: Value, _ entity: Int, _ column: Int) -> Value = { value, _, _ in value }
    ) throws {
        self.view = view
        self.schema = schema
        try assignNumbers(before: names, numbering: numbering)
        var isConverted = false
        for name in view.order {
            guard let row = view.rows[name] else { continue }
            let entity = schema.entities[row.entity]
            var values: [Value] = []
            var isNew = false
            for (column, field) in row.fields.enumerated() {
                if let spelled = spelled(field) {
                    let value = stored(spelled, row.entity, column)
                    isConverted = isConverted || value != spelled
                    values.append(
                        field.target == nil
                            ? value
                            : kept(
                                storedRow(name)?[column], for: field, in: column, of: entity, value)
                    )
                    continue
                }
                let old = storedRow(name)
                let isDeclared = entity.references.contains { $0.columns.contains(column) }
                var value = old?[column] ?? .null
                if value == .null, !isDeclared, case .reference(let target, let part) = field {
                    value = formerKey(target, part) ?? .null
                }
                values.append(value)
                if isBoundary(name), old != nil { continue }
                if let target = unshown(field) { missing.insert(target) }
                if isDeclared {
                    unspelled.insert(name)
                } else if old == nil {
                    isNew = true
                }
            }
            if entity.isPrivate { values[entity.key[0]] = .integer(numbers[name] ?? 0) }
            values = accepted(values, of: row, entity: entity)
            if isNew,
                entity.refuses(values.map(Field.value))
                    || entity.key.contains(where: { values[$0] == .null })
            {
                unfit.insert(name)
            }
            let key = schema.key(row.entity, entity.key.map { values[$0] })
            if let other = self.names[key] {
                let error = Self.collision(
                    at: key, of: [name, other], in: view, schema: schema, isConverted: isConverted)
                collisions.append(Collision(name: name, key: key, values: values, error: error))
                continue
            }
            rows[key] = values
            self.names[key] = name
        }
    }

    /// The error of two rows with one key.
    private static func collision(
        at key: RowKey, of names: [ObjectUID], in view: View, schema: MergeSchema,
        isConverted: Bool
    ) -> SyncError {
        let entity = schema.entities[key.entity]
        let title = SchemaIdentity.title(entity.name)
        if isConverted {
            return SyncError(
                .refused, "two rows of \(title) have one key",
                hint: "The types of the key's columns make them equal here: declare the types that "
                    + "the other replicas have")
        }
        // A number that means a row of another table only where it was written.
        let referring = Set(entity.references.flatMap(\.columns)).intersection(entity.key)
        let isLoose = names.contains { name in
            referring.contains { view.rows[name]?.fields[$0].target == nil }
        }
        guard isLoose else {
            return SyncError(.internalFault, "two rows of \(title) have one key")
        }
        let path = "\(title)/\(ObjectKey(key.values))"
        return SyncError(
            .refused,
            "two rows of \(title) have the key of \(path): one refers to a row that was not there "
                + "when it was written, with foreign_keys off",
            hint: "On the replica where \(path) refers to nothing, delete it or give it another "
                + "key; then run there, and here: synctool sync DB")
    }

    /// Fails rather than writing NULL in place of a reference that cannot be spelled.
    /// - Throws: `internalFault` naming one of the rows.
    func requireAllSpelled() throws {
        guard let name = unspelled.min() else { return }
        throw SyncError(.internalFault, "\(name) refers to an object that is not shown")
    }

    /// Fails where two rows have one key.
    /// - Throws: `internalFault`; `refused` where the table stores two keys alike, or a key holds
    ///   the number of a row that was not there where it was written.
    func requireOneRowForEachKey() throws {
        if let collision = collisions.first { throw collision.error }
    }

    /// The values of the columns of a row that is not shown as it is; NULL for a private number,
    /// and for a reference to an object that is not shown.
    func values(of row: ShownRow) -> [Value] {
        row.fields.map { spelled(view.resolved($0)) ?? .null }
    }

    /// What a column holds; nil when it refers to what the view does not show.
    /// - Parameter depth: how many keys that refer to each other were followed; a schema has at
    ///   most one for each table, merged facts may have more.
    private func spelled(_ field: Field, depth: Int = 0) -> Value? {
        switch field {
        case .unstated: return nil
        case .value(let value): return value
        case .reference(let uid, let part):
            guard let row = view.rows[uid] else { return nil }
            let entity = schema.entities[row.entity]
            if entity.isPrivate { return .integer(numbers[uid] ?? 0) }
            guard entity.key.indices.contains(part), depth <= schema.entities.count else {
                return nil
            }
            return spelled(row.fields[entity.key[part]], depth: depth + 1)
        }
    }

    /// The values with references spelled so that the row's CHECKs accept them: as the row has them
    /// now, else as the view found.
    private func accepted(_ values: [Value], of row: ShownRow, entity: MergeEntity) -> [Value] {
        guard entity.hasSpelledReferences, entity.refuses(values.map(Field.value)) else {
            return values
        }
        let visible = zip(values, row.fields).map { value, field in
            Field.value(field.target == nil ? value : spelled(field) ?? value)
        }
        let accepted = entity.accepted(visible) { row.fields[$0].target != nil }
        return accepted.map { fields in
            zip(fields, values).map { field, value in
                if case .value(let accepted) = field { return accepted }
                return value
            }
        } ?? values
    }

    /// What a row holds in place of `value`, where that is another spelling of the same key.
    private func kept(
        _ old: @autoclosure () -> Value?, for field: Field, in column: Int, of entity: MergeEntity,
        _ value: Value
    ) -> Value {
        guard let key = spelledColumn(field, in: column, of: entity), let old = old(),
            old != value, key.collation.folded(old) == key.collation.folded(value)
        else { return value }
        return old
    }

    /// The column whose value a reference holds; nil for a plain value, and where a UNIQUE on the
    /// way to it tells spellings apart.
    private func spelledColumn(
        _ field: Field, in column: Int, of entity: MergeEntity
    ) -> MergeEntity.Column? {
        var (field, column, entity) = (field, column, entity)
        var spelled: MergeEntity.Column?
        for _ in 0...schema.entities.count {
            guard case .reference(let uid, let part) = field, let row = view.rows[uid] else {
                break
            }
            if entity.isExact(column) { return nil }
            entity = schema.entities[row.entity]
            guard !entity.isPrivate, entity.key.indices.contains(part) else { return nil }
            column = entity.key[part]
            spelled = entity.columns[column]
            field = row.fields[column]
        }
        return spelled
    }

    /// The object that the view would have to show for a column to be spelled.
    private func unshown(_ field: Field) -> ObjectUID? {
        var field = field
        for _ in 0...schema.entities.count {
            guard case .reference(let uid, let part) = field else { return nil }
            guard let row = view.rows[uid] else { return uid }
            let key = schema.entities[row.entity].key
            guard key.indices.contains(part) else { return nil }
            field = row.fields[key[part]]
        }
        return nil
    }

    private mutating func assignNumbers(
        before names: [RowKey: ObjectUID], numbering: Numbering
    ) throws {
        var shown: [ObjectUID: Int64] = [:]
        for (key, name) in names where schema.entities[key.entity].hasPrivateNumbers {
            if case .integer(let number) = key.values[0] { shown[name] = number }
        }
        var used: [Int: Set<Int64>] = [:]
        var waiting: [(name: ObjectUID, row: ShownRow)] = []
        for name in view.order {
            guard let row = view.rows[name], schema.entities[row.entity].isPrivate else { continue }
            if let number = sharedNumber(of: row) {
                numbers[name] = number
                continue
            }
            var offers = row.members.compactMap { shown[$0] }
            if offers.isEmpty { offers = row.members.compactMap(numbering.known) }
            let free = offers.filter { !used[row.entity, default: []].contains($0) }
            if let number = free.min() {
                numbers[name] = number
                used[row.entity, default: []].insert(number)
            } else {
                waiting.append((name, row))
            }
        }
        var greatest: [Int: Int64] = [:]
        for (name, row) in waiting {
            let hints = row.members.compactMap(numbering.hint)
            var number = try hints.first {
                try !used[row.entity, default: []].contains($0)
                    && !numbering.isTaken(row.entity, $0, name)
            }
            if number == nil {
                let known =
                    try greatest[row.entity]
                    ?? max(numbering.greatest(row.entity), used[row.entity]?.max() ?? 0)
                let next =
                    try known < .max
                    ? known + 1
                    : freeNumber(
                        for: name, entity: row.entity, used: used[row.entity, default: []],
                        numbering: numbering)
                number = next
                greatest[row.entity] = max(known, next)
            } else if let known = greatest[row.entity], let number {
                greatest[row.entity] = max(known, number)
            }
            numbers[name] = number
            used[row.entity, default: []].insert(number ?? 0)
        }
    }

    /// The number that the view gives a row; nil where numbers are private.
    private func sharedNumber(of row: ShownRow) -> Int64? {
        let entity = schema.entities[row.entity]
        guard entity.sharesNumbers, case .value(.integer(let number)) = row.fields[entity.key[0]]
        else { return nil }
        return number
    }

    /// Attempts before a table counts as full: as many as SQLite makes for a rowid.
    private static let triesMax = 100

    /// A number below the greatest one, which is taken: from the whole range, as SQLite chooses a
    /// rowid. Derived from the identity, so that each computation of the image has the same result.
    /// - Throws: `refused` when none can be found.
    private func freeNumber(
        for name: ObjectUID, entity: Int, used: Set<Int64>, numbering: Numbering
    ) throws -> Int64 {
        var state = name.high ^ name.low
        for _ in 0..<Self.triesMax {
            // SplitMix64, whose steps go through every number once.
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            let number = Int64((word ^ (word >> 31)) >> 2) + 1
            let isUsed = used.contains(number)
            if try !isUsed && !numbering.isTaken(entity, number, name) { return number }
        }
        let table = SchemaIdentity.title(schema.entities[entity].name)
        throw SyncError(
            .refused, "the table \(table) has no free number for a row of another replica",
            hint: "Give the row with the greatest number of \(table) a smaller one")
    }
}
