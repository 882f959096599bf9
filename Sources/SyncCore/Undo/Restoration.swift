import SyncStorage
import SyncValues

/// Brings deleted objects back from their tombstones, within the transaction of a writer: the one
/// that is asked for first, then those that its delete took along.
///
/// They may refer to each other in any order, and to themselves. A reference whose object is not
/// there in the end becomes NULL where the schema allows it.
struct Restoration {
    private let family: [Change]
    private let writer: UndoWriter
    private let path: String

    /// A reference to an object that is still to come.
    private struct Expected {
        let change: Change
        let table: TableSchema
        let reference: ForeignKeySchema
    }

    init(_ family: [Change], writer: UndoWriter, path: String) {
        self.family = family
        self.writer = writer
        self.path = path
    }

    /// - Throws: `refused` when the first object cannot come back, or a reference that is not there
    ///   may not be NULL.
    /// - Complexity: O(objects); with references among them in a circle, O(objects²).
    func run() throws -> UndoReport {
        var report = UndoReport()
        var expected: [Expected] = []
        for (index, change) in family.enumerated() {
            if let reason = try bringBack(change, into: &report, expecting: &expected) {
                guard index > 0 else { throw refusal(of: change, reason) }
                report.refusals.append(
                    .init(object: change.object, properties: [], reason: reason, blockedBy: nil))
            }
        }
        for item in expected {
            guard let row = try writer.row(in: item.table, key: item.change.object.key),
                try writer.danglingReferences(of: item.table, values: row).contains(item.reference)
            else { continue }
            guard Self.canBeNull(item.reference, in: item.table) else {
                throw refusal(of: item.change, Self.needed(item.reference))
            }
            try writer.update(
                in: item.table, key: item.change.object.key,
                values: NamedValues(item.reference.columns.map { .init(name: $0, value: .null) }))
            report.refusals.append(Self.nulled(item.reference, of: item.change))
        }
        return report
    }

    /// - Returns: why it cannot come back; nil when it did.
    private func bringBack(
        _ change: Change, into report: inout UndoReport, expecting expected: inout [Expected]
    ) throws -> String? {
        let table = try writer.table(change.entity)
        guard try !writer.exists(in: table, key: change.object.key) else {
            return "it exists, or another object has its key"
        }
        guard let (values, gone) = change.wholeTombstone(for: table) else {
            return "not all of its values were kept"
        }
        var nulls: [ForeignKeySchema] = []
        for reference in try writer.danglingReferences(of: table, values: values) {
            if isAmongThem(reference, values: values) {
                expected.append(Expected(change: change, table: table, reference: reference))
            } else if Self.canBeNull(reference, in: table) {
                nulls.append(reference)
            } else {
                return Self.needed(reference)
            }
        }
        if !gone.isEmpty {
            report.refusals.append(
                .init(
                    object: change.object, properties: gone,
                    reason: "the column no longer exists", blockedBy: nil))
        }
        report.refusals += nulls.map { Self.nulled($0, of: change) }
        let names = nulls.flatMap(\.columns)
        try writer.insert(
            into: table,
            values: NamedValues(
                values.pairs.map { pair in
                    names.contains { SQLName.isEqual($0, to: pair.name) }
                        ? .init(name: pair.name, value: .null) : pair
                }))
        report.steps.append(.init(kind: .insert, object: change.object, properties: []))
        return nil
    }

    /// Whether the object that a reference leads to comes back with the others, or is the object
    /// itself.
    private func isAmongThem(_ reference: ForeignKeySchema, values: NamedValues) -> Bool {
        guard let parent = writer.tables[SQLName.folded(reference.parent)] else { return false }
        let columns = reference.parentColumns.isEmpty ? parent.key : reference.parentColumns
        let key = reference.columns.map { values[$0] }
        return family.contains { change in
            SQLName.isEqual(change.entity, to: parent.name)
                && columns.map { change.tombstone?[$0] } == key
        }
    }

    private static func canBeNull(_ reference: ForeignKeySchema, in table: TableSchema) -> Bool {
        reference.columns.allSatisfy { table.column($0)?.isNotNull == false }
    }

    private static func needed(_ reference: ForeignKeySchema) -> String {
        "it requires a deleted object of \(reference.parent)"
    }

    private static func nulled(
        _ reference: ForeignKeySchema, of change: Change
    ) -> UndoReport.Refusal {
        .init(
            object: change.object, properties: reference.columns,
            reason:
                "the referenced object of \(reference.parent) was deleted; the reference is NULL",
            blockedBy: nil)
    }

    private func refusal(of change: Change, _ reason: String) -> SyncError {
        SyncError(
            .refused, "\(change.object.path) cannot be restored: \(reason)",
            hint: "Its history: synctool history \(Shell.quoted(path)) --object "
                + Shell.quoted(change.object.path))
    }
}
