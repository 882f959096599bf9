import SyncTesting

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Which deletes SQLite carried out by itself, known without syncd: TEMP triggers of the writer see
/// for each deleted row whether a parent's row is still there. A statement that names a child finds
/// it there; when a cascade comes to the child, its parent is gone.
struct CauseOracle {
    struct Mismatch: Error, CustomStringConvertible {
        var description: String
    }

    /// By entity and key: of each delete, whether a parent was gone.
    typealias Deletes = [String: [ObjectKey: [Bool]]]

    private let schema: RandomSchema

    init(_ schema: RandomSchema) { self.schema = schema }

    func install(on connection: PlainConnection) throws {
        try connection.run("CREATE TEMP TABLE truth(entity, gone, k0, k1, k2, k3, k4, k5, k6, k7)")
        for (number, table) in schema.tables.enumerated() {
            let references = schema.references.filter { $0.child == number && $0.isCascade }
            let gone = references.map { reference in
                let parent = schema.tables[reference.parent]
                let columns = reference.columns.map { "OLD.\(SQLName.quoted($0))" }
                let isSet = columns.map { "\($0) IS NOT NULL AND " }.joined()
                // Without an affinity of its own, as SQLite compares it.
                let equal = zip(reference.parentColumns, columns).map {
                    "p.\(SQLName.quoted($0)) = +\($1)"
                }
                return isSet + "NOT EXISTS(SELECT 1 FROM \(SQLName.quoted(parent.name)) AS p "
                    + "WHERE \(equal.joined(separator: " AND ")))"
            }.joined(separator: " OR ")
            let keys = table.key.map { "OLD.\(SQLName.quoted($0))" }
            let padded = keys + Array(repeating: "NULL", count: 8 - keys.count)
            let name = SQLName.quoted(table.name)
            try connection.run(
                """
                CREATE TEMP TRIGGER truth\(number) AFTER DELETE ON \(name) BEGIN
                  INSERT INTO truth VALUES(\(SQLName.literal(table.name)),
                    \(gone.isEmpty ? "0" : gone), \(padded.joined(separator: ", "))); END
                """)
        }
    }

    func take(from connection: PlainConnection) throws -> Deletes {
        let counts = Dictionary(
            uniqueKeysWithValues: schema.tables.map { ($0.name, $0.key.count) })
        var deletes: Deletes = [:]
        for row in try connection.rows("SELECT * FROM truth ORDER BY rowid") {
            guard case .text(let entity) = row[0], let count = counts[entity] else { continue }
            let key = ObjectKey(Array(row[2..<(2 + count)]))
            deletes[entity, default: [:]][key, default: []].append(row[1] == 1)
        }
        try connection.run("DELETE FROM truth")
        return deletes
    }

    // MARK: Checking

    /// - Parameters:
    ///   - deletes: what happened in the transaction; nil: another writer's.
    ///   - statements: the writer's statements.
    func check(
        _ transaction: Transaction, _ deletes: Deletes?, statements: [String]
    ) throws {
        for (index, change) in transaction.changes.enumerated() {
            switch change.cause {
            case .cascade(let parent):
                try checkCascade(change, at: index, of: parent, in: transaction)
                if let deletes, deletes[change.entity]?[change.object.key]?.contains(true) != true {
                    throw Mismatch(
                        description: "\(change.object.path) is a cascade of \(parent.path), but a "
                            + "statement named it")
                }
            case .renumbered(let other):
                try checkKeyChange(change, other: other, in: transaction)
            case .direct:
                guard change.kind == .delete, let deletes else { continue }
                try checkDirect(change, deletes, in: transaction, statements: statements)
            case .replace, .merge: break
            }
        }
    }

    private func checkCascade(
        _ change: Change, at index: Int, of parent: ObjectID, in transaction: Transaction
    ) throws {
        let places = transaction.changes.indices.filter {
            transaction.changes[$0].object.isSameKey(as: parent)
        }
        guard let end = places.last(where: { transaction.changes[$0].kind == .delete }) else {
            throw Mismatch(
                description: "\(change.object.path) is a cascade of \(parent.path), which stays")
        }
        guard places.first == end, end > index else { return }
        throw Mismatch(
            description: "\(change.object.path) comes before its parent \(parent.path)")
    }

    /// The change names a key of which the transaction tells, and which names it, too.
    private func checkKeyChange(
        _ change: Change, other: ObjectID, in transaction: Transaction
    ) throws {
        let isNamed = transaction.changes.contains { candidate in
            guard candidate.object.isSameKey(as: other) else { return false }
            if case .renumbered(let back) = candidate.cause {
                return back.isSameKey(as: change.object)
            }
            return change.kind == .delete && candidate.kind == .update
                && candidate.cause == .replace
        }
        guard !isNamed else { return }
        throw Mismatch(
            description:
                "\(change.kind.name) \(change.object.path) names \(other.path), which does "
                + "not name it")
    }

    /// A plain delete whose parent went must be a cascade, where nothing but DELETE can have
    /// removed the parent.
    private func checkDirect(
        _ change: Change, _ deletes: Deletes, in transaction: Transaction, statements: [String]
    ) throws {
        let sql = statements + schema.triggers + schema.tables.flatMap(\.sql)
        guard schema.triggers.isEmpty,
            !sql.contains(where: { $0.contains("REPLACE") || $0.contains("defer_foreign_keys") }),
            let flags = deletes[change.entity]?[change.object.key], flags == [true],
            let values = change.tombstone
        else { return }
        for reference in schema.references
        where reference.isCascade && schema.tables[reference.child].name == change.entity {
            guard reference.parentColumns == schema.tables[reference.parent].key else { continue }
            let parent = schema.tables[reference.parent].name
            let key = ObjectKey(reference.columns.map { values[$0] ?? .null })
            let isGone = transaction.changes.contains {
                $0.kind == .delete && $0.entity == parent && $0.object.key == key
                    && ($0.cause == .direct)
            }
            guard isGone, parent != change.entity else { continue }
            throw Mismatch(
                description: "\(change.object.path) went with \(parent)/\(key), and is direct")
        }
    }
}

extension ObjectID {
    fileprivate func isSameKey(as other: ObjectID) -> Bool {
        entity == other.entity && key == other.key
    }
}
