import SyncMerge

/// Writes random transactions into a replica's tables through SQLite, which refuses what its
/// constraints forbid and runs the foreign-key actions.
struct RandomWriter {
    /// What a statement does.
    enum Operation: CaseIterable {
        case insert, delete, deleteAndInsert, changeKey, swapUnique
        case writeTokens, writeUniques, writeReference, writeChecked
    }

    /// The row that the first statement changes, so that writers conflict.
    struct Target {
        let entity: Int
        let row: Int
        let operation: Operation
        /// The row's key; when there is no such row, ``row`` selects one.
        var key: [Value]?
    }

    /// Texts that were never used before.
    struct Tokens {
        private var count = 0
        mutating func next() -> String {
            count += 1
            return "t\(count)"
        }
    }

    let replica: any SimulatedTables
    var random: SeededRandom
    private let schedules: StoreSimulation.Schedules
    private var recreated: Set<RowKey> = []
    private var rekeyed: [RowKey: RowKey] = [:]

    init(
        _ replica: any SimulatedTables, random: SeededRandom,
        schedules: StoreSimulation.Schedules = .ordinary
    ) {
        self.replica = replica
        self.schedules = schedules
        self.random = random
    }

    var schema: SimulatedSchema { replica.schema }

    fileprivate static let operations: [Operation] = [
        .insert, .insert, .insert, .writeTokens, .writeTokens, .writeUniques,
        .writeReference, .writeChecked, .delete, .delete, .delete, .deleteAndInsert,
        .changeKey, .swapUnique,
    ]
    /// Most statements insert rows, or write what nothing constrains.
    fileprivate static let plainOperations: [Operation] = [
        .insert, .insert, .insert, .insert, .insert, .writeTokens, .writeTokens, .writeTokens,
        .writeTokens, .writeTokens, .writeReference, .writeReference, .writeUniques,
        .writeChecked, .delete,
    ]

    /// Writes one to three statements, or tens of rows (``writeMany(tokens:)``), and commits them.
    /// - Returns: the keys that were deleted and inserted again, and those that were changed; nil
    ///   when nothing was committed.
    mutating func write(
        _ target: Target?, focus: Target?, tokens: inout Tokens
    ) throws -> (recreated: Set<RowKey>, rekeyed: [RowKey: RowKey])? {
        let before = replica.tables
        let isLoose = schedules == .loose && target == nil && random.chance(0.5)
        if isLoose { try replica.database.run("PRAGMA foreign_keys = OFF") }
        defer { if isLoose { _ = try? replica.database.run("PRAGMA foreign_keys = ON") } }
        try replica.database.run("BEGIN")
        if isLoose {
            try writeLoosely(tokens: &tokens)
        } else if schedules == .simple, target == nil, random.chance(0.3) {
            try writeMany(tokens: &tokens)
        } else {
            for turn in 0..<random.pick([1, 1, 1, 2, 2, 3]) {
                try runStatement(turn == 0 ? target : nil, focus: focus, tokens: &tokens)
            }
        }
        let isHalfSwapped = try replica.read().values.contains { $0.contains("swapping") }
        try replica.willCommit()
        guard !isHalfSwapped, try replica.database.run("COMMIT") != nil else {
            try replica.database.run("ROLLBACK")
            return nil
        }
        let after = try replica.read()
        recreated = recreated.filter { after[$0] != nil && before[$0] != nil }
        var net: [RowKey: RowKey] = [:]
        let changes = rekeyed.sorted { schema.merge.precedes($0.key, $1.key) }
        for (new, old) in changes
        where after[new] != nil && before[new] == nil && before[old] != nil && after[old] == nil
            && !net.values.contains(old)
        {
            net[new] = old
        }
        return (recreated, net)
    }

    private mutating func runStatement(
        _ target: Target?, focus: Target?, tokens: inout Tokens
    ) throws {
        let rows = try replica.read()
        var entity = random.below(schema.merge.entities.count)
        var operation = random.pick(schedules.operations)
        if let focus, random.chance(0.6) {
            entity = focus.entity
            if random.chance(0.6) { operation = focus.operation }
        }
        if let target {
            entity = target.entity
            operation = target.operation
        }
        var keys = rows.keys.filter { $0.entity == entity }.sorted(by: schema.merge.precedes)
        if let target, operation != .swapUnique, !keys.isEmpty {
            let wanted = keys.first { $0.values == target.key }
            keys = [wanted ?? keys[target.row % keys.count]]
        }
        guard operation != .insert, !keys.isEmpty else {
            let row = newRow(in: entity, rows: rows, tokens: &tokens)
            try replica.database.run(schema.insert(entity), with: row)
            return
        }
        try change(operation, key: random.pick(keys), keys: keys, rows: rows, tokens: &tokens)
    }

    private mutating func change(
        _ operation: Operation, key: RowKey, keys: [RowKey], rows: [RowKey: [Value]],
        tokens: inout Tokens
    ) throws {
        let entity = schema.merge.entities[key.entity]
        let roles = schema.roles[key.entity]
        var columns: [Int] = []
        switch operation {
        case .delete:
            try replica.database.run(schema.delete(key.entity), with: key.values)
        case .deleteAndInsert:
            try deleteAndInsert(
                key, row: newRow(in: key.entity, rows: rows, tokens: &tokens, key: key))
        case .changeKey: try changeKey(key, rows: rows, tokens: &tokens)
        case .swapUnique: try swapUnique(keys, rows: rows)
        case .writeTokens:
            columns = roles.indices.filter {
                roles[$0] == .token || (roles[$0].isBlending && random.chance(0.7))
                    || (roles[$0] == .any && random.chance(0.5))
            }
        case .writeUniques:
            columns = roles.indices.filter {
                roles[$0] == .unique
                    || (entity.columns[$0].name.hasPrefix("p") && random.chance(0.5))
            }
        case .writeChecked:
            columns = roles.indices.filter { column in
                ["a", "b"].contains(entity.columns[column].name) && random.chance(0.6)
                    || ["c", "g", "h"].contains(entity.columns[column].name.prefix(1))
            }
        case .writeReference:
            let free = entity.references.filter { !$0.columns.contains(where: entity.key.contains) }
            columns = free.isEmpty ? [] : random.pick(free).columns
        case .insert: break
        }
        if columns.isEmpty { return }
        let row = newRow(in: key.entity, rows: rows, tokens: &tokens, key: key)
        try replica.database.run(
            schema.update(key.entity, columns: columns), with: columns.map { row[$0] } + key.values)
    }

    private mutating func deleteAndInsert(_ key: RowKey, row: [Value]) throws {
        try replica.database.run("SAVEPOINT again")
        if try replica.database.run(schema.delete(key.entity), with: key.values) != nil,
            try replica.database.run(schema.insert(key.entity), with: row) != nil
        {
            recreated.insert(key)
        } else {
            try replica.database.run("ROLLBACK TO again")
        }
        try replica.database.run("RELEASE again")
    }

    private mutating func changeKey(
        _ key: RowKey, rows: [RowKey: [Value]], tokens: inout Tokens
    ) throws {
        let entity = schema.merge.entities[key.entity]
        let row = newRow(in: key.entity, rows: rows, tokens: &tokens)
        let values =
            entity.isPrivate
            ? [.integer(Int64(1 + random.below(7)))] : entity.key.map { row[$0] }
        let new = schema.merge.key(key.entity, values)
        guard !values.contains(.null), replica.tables[key] != nil,
            new == key ? values != key.values : replica.tables[new] == nil
        else { return }
        let update = schema.update(key.entity, columns: entity.key)
        if try replica.database.run(update, with: values + key.values) != nil,
            new != key, try replica.read()[new] != nil
        {
            rekeyed[new] = key
        }
    }

    private mutating func swapUnique(_ keys: [RowKey], rows: [RowKey: [Value]]) throws {
        guard let column = schema.roles[keys[0].entity].firstIndex(of: .unique), keys.count > 1
        else { return }
        let chosen = keys.shuffled(using: &random)
        let update = schema.update(keys[0].entity, columns: [column])
        let values = chosen.prefix(2).map { rows[$0]?[column] ?? .null }
        try replica.database.run(update, with: ["swapping"] + chosen[0].values)
        try replica.database.run(update, with: [values[0]] + chosen[1].values)
        try replica.database.run(update, with: [values[1]] + chosen[0].values)
    }

    /// The key that a row which was written last refers to: another writer changes that row.
    /// - Parameters:
    ///   - before: the rows before.
    ///   - after: the rows after.
    static func target(
        of reference: MergeEntity.Reference, in entity: Int, schema: MergeSchema,
        before: [RowKey: [Value]], after: [RowKey: [Value]]
    ) -> [Value]? {
        let written = after.filter { $0.key.entity == entity && before[$0.key] != $0.value }
        let first = written.min { schema.precedes($0.key, $1.key) }
        return first.map { row in reference.columns.map { row.value[$0] } }
    }

    // MARK: Values

    mutating func newRow(
        in entity: Int, rows: [RowKey: [Value]], tokens: inout Tokens, key: RowKey? = nil
    ) -> [Value] {
        let description = schema.merge.entities[entity]
        var row = schema.roles[entity].enumerated().map { column, role -> Value in
            switch role {
            case .token: return .text(tokens.next())
            case .text(let choices):
                return spelled("k\(random.below(choices))", column: column, of: entity)
            case .number(let choices): return .integer(Int64(random.below(choices)))
            case .extreme(let choices):
                let place = random.below(choices) * (choices == 2 ? 3 : 1)
                return .integer([Int64.min, -1, 9_007_199_254_740_993, .max][place])
            case .privateNumber: return privateNumber(in: entity, rows: rows)
            case .unique:
                if !description.columns[column].isRequired && random.chance(0.2) { return .null }
                return spelled("u\(random.below(4))", column: column, of: entity)
            case .counter:
                if random.chance(0.1) { return random.pick([.null, .text("many"), .real(0.5)]) }
                let step = Int64(random.below(9)) - 4
                guard let key, case .integer(let number)? = rows[key]?[column] else {
                    return .integer(step)
                }
                return .integer(number + step)
            case .set:
                if random.chance(0.05) { return .null }
                let present = key.flatMap { rows[$0]?[column] }.flatMap(JSONArray.elements)
                var elements = (present ?? []).filter { _ in random.chance(0.75) }
                if random.chance(0.8) { elements.append("\"\(tokens.next())\"") }
                return .text("[" + elements.joined(separator: random.pick([",", ", "])) + "]")
            case .lines:
                if random.chance(0.05) { return .null }
                var lines: [Substring] = []
                if let key, case .text(let text)? = rows[key]?[column] {
                    lines = text.split(separator: "\n").filter { _ in random.chance(0.8) }
                }
                for _ in 0..<random.pick([1, 1, 3]) {
                    lines.insert(tokens.next()[...], at: random.below(lines.count + 1))
                }
                return .text(lines.joined(separator: "\n"))
            case .any: return AnyValue.draw(&random)
            case .reference: return .null
            }
        }
        for reference in description.references {
            let keys = rows.keys.filter { $0.entity == reference.target }
                .sorted(by: schema.merge.precedes)
            let mayBeNull = reference.columns.allSatisfy {
                !description.columns[$0].isRequired && !description.key.contains($0)
            }
            guard !keys.isEmpty, !(mayBeNull && random.chance(0.25)) else { continue }
            let target = random.pick(keys).values
            let isRespelled = reference.isExact && random.chance(0.2)
            for (part, column) in reference.columns.enumerated() {
                row[column] = schema.spelled(target[part], column: column, of: entity)
                guard isRespelled, case .text(let text) = row[column] else { continue }
                let key = schema.merge.entities[reference.target].key[part]
                row[column] = spelled(text, column: key, of: reference.target)
            }
        }
        if let key {
            for (column, value) in zip(description.key, key.values) { row[column] = value }
        }
        return row
    }

    /// A text, or another one that is equal to it.
    private mutating func spelled(_ text: String, column: Int, of entity: Int) -> Value {
        guard schema.hasSpellings(column, of: entity), random.chance(0.5) else {
            return .text(text)
        }
        let isPadded = schema.merge.entities[entity].columns[column].collation == .rtrim
        return .text(isPadded ? text + " " : text.uppercased())
    }

    private mutating func privateNumber(in entity: Int, rows: [RowKey: [Value]]) -> Value {
        guard random.chance(schedules == .plain || schedules == .simple ? 0.99 : 0.8) else {
            let drawn = random.below(40)
            let ends: [Int64] = [.max, .max - 1, .min]
            return .integer(drawn < ends.count ? ends[drawn] : Int64(1 + drawn % 5))
        }
        var greatest: Int64 = 0
        for key in rows.keys where key.entity == entity {
            if case .integer(let number) = key.values[0] { greatest = max(greatest, number) }
        }
        // SQLite chooses; AUTOINCREMENT after the greatest number would end the transaction.
        let ended = try? replica.database.run(
            "SELECT 1 FROM sqlite_sequence WHERE seq = 9223372036854775807")
        if schema.merge.entities[entity].sharesNumbers, greatest < .max, random.chance(0.5),
            ended?.isEmpty ?? true
        {
            return .null
        }
        // After the greatest number there is, SQLite would draw a random one.
        return .integer(greatest < .max ? greatest + 1 : Int64(1 + random.below(1 << 40)))
    }
}

extension SimulatedSchema.Role {
    /// Whether several versions of such a column become one value.
    var isBlending: Bool { self == .counter || self == .set || self == .lines }
}

extension StoreSimulation.Schedules {
    /// What a statement of a writer may do, as often as it is named.
    fileprivate var operations: [RandomWriter.Operation] {
        switch self {
        case .ordinary, .migrating, .loose, .tied: RandomWriter.operations
        case .plain, .simple, .orphaned: RandomWriter.plainOperations
        case .crowded: RandomWriter.plainOperations + RandomWriter.operations
        }
    }
}
