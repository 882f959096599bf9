@testable import SyncCore
@testable import SyncValues

/// A copy of the tables that is kept up with nothing but history: deletes remove, inserts and the
/// named properties of updates take over the values of the table as the transaction left it, and
/// nothing else is ever copied. Where history leaves something out, the copy differs.
struct HistoryReplay {
    struct Mismatch: Error, CustomStringConvertible {
        var description: String
    }

    /// By entity: each object's values in the order of the table's columns.
    typealias Tables = [String: [ObjectKey: [Value]]]

    private struct Object {
        /// Nil between an insert and the delete that follows in the same transaction.
        var values: [Value]?
        /// 0: was there before history.
        var incarnation: Int64 = 0
    }

    /// Somebody digested who could not tell all commits apart: a birth may be told later than it
    /// was, with the end of those that ran together.
    var isCoarser = false
    /// A column that the transaction adds in its middle: what it deleted before has no value of it.
    var added: String?
    private var tables: [String: RandomSchema.Table]
    private var objects: [String: [ObjectKey: Object]]

    init(_ tables: [RandomSchema.Table], _ now: Tables) {
        self.tables = Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0) })
        objects = now.mapValues { rows in rows.mapValues { Object(values: $0) } }
    }

    /// A column was added to a table.
    /// - Parameter value: what it has in rows that were there.
    mutating func addColumn(to table: RandomSchema.Table, value: Value) {
        tables[table.name] = table
        for key in (objects[table.name] ?? [:]).keys {
            objects[table.name]?[key]?.values?.append(value)
        }
    }

    /// - Parameter after: the tables as the transaction left them.
    mutating func apply(_ transaction: Transaction, _ after: Tables) throws {
        for change in transaction.changes {
            let key = change.object.key
            let object = objects[change.entity]?[key]
            let now = after[change.entity]?[key]
            do {
                let result = try apply(change, in: transaction, object, now)
                objects[change.entity, default: [:]][key] = result
            } catch let mismatch as Mismatch {
                throw Mismatch(
                    description: "\(change.kind.name) \(change.object.path) in "
                        + "\(transaction.number): \(mismatch)")
            }
        }
    }

    private func apply(
        _ change: Change, in transaction: Transaction, _ object: Object?, _ now: [Value]?
    ) throws -> Object? {
        guard change.kind != .insert else {
            guard object == nil else { throw Mismatch(description: "it was there before") }
            guard change.object.incarnation == transaction.number else {
                throw Mismatch(description: "born in \(change.object.incarnation)")
            }
            // What came and went in one transaction, nobody knows but the writer.
            let stays = !transaction.changes.contains {
                $0.kind == .delete && $0.seq > change.seq && $0.object == change.object
            }
            return Object(values: stays ? now : nil, incarnation: transaction.number)
        }
        guard var object else { throw Mismatch(description: "it was not there") }
        let incarnation = change.object.incarnation
        guard incarnation == object.incarnation || isCoarser && incarnation > object.incarnation
        else {
            throw Mismatch(
                description: "incarnation \(change.object.incarnation), not \(object.incarnation)")
        }
        guard change.kind == .update else {
            try check(tombstone: change, in: transaction, object)
            return nil
        }
        let columns = tables[change.entity]?.columns ?? []
        for name in change.properties {
            guard let position = columns.firstIndex(of: name) else {
                throw Mismatch(description: "there is no property \(name)")
            }
            // What was found by comparing has no old values.
            if tables[change.entity]?.undo == true, !transaction.flags.contains(.recovered),
                let old = object.values?[position], change.oldValues?[name] != old
            {
                throw Mismatch(
                    description: "\(name) was \(old), not \(String(describing: change.oldValues))")
            }
            if let now { object.values?[position] = now[position] }
        }
        return object
    }

    /// A tombstone has every property. With `undo` these are the values before the transaction;
    /// without, what the transaction itself had changed before is not known any more. Where commits
    /// ran together, they are the last committed values, which the copy has not seen.
    private func check(
        tombstone change: Change, in transaction: Transaction, _ object: Object
    ) throws {
        guard let table = tables[change.entity], let tombstone = change.tombstone else {
            throw Mismatch(description: "no tombstone")
        }
        for (position, name) in table.columns.enumerated() {
            guard let value = tombstone[name] else {
                if name == added { continue }
                throw Mismatch(description: "the tombstone has no \(name)")
            }
            if table.undo, !transaction.flags.contains(.coalesced),
                let old = object.values?[position], old != value
            {
                throw Mismatch(description: "\(name) was \(old), the tombstone has \(value)")
            }
        }
    }

    /// Compares the copy with the tables as they are.
    func check(_ now: Tables) throws {
        for (entity, table) in tables {
            let copy = objects[entity] ?? [:]
            let rows = now[entity] ?? [:]
            for key in Set(copy.keys).union(rows.keys) where copy[key]?.values != rows[key] {
                throw Mismatch(
                    description: "\(table.name)/\(key) is \(Self.text(rows[key])), replayed it is "
                        + Self.text(copy[key]?.values))
            }
        }
    }

    private static func text(_ values: [Value]?) -> String {
        values.map { "(" + $0.map(\.description).joined(separator: ", ") + ")" } ?? "not there"
    }
}
