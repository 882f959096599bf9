import SyncStorage
import SyncValues

/// Reads the rows of an entity's table, with their keys and fingerprints.
///
/// Confined to its connection.
final class EntityRows {
    private let entity: TrackedEntity
    private let columns: [Int32]
    private let keyColumns: [Int32]
    private let one: Statement
    private let first: Statement
    private let next: Statement
    private let isByRowID: Bool

    /// - Parameter rowID: a name by which SQL reaches the rowid; nil when there is none, and then
    ///   the key's order is the table's.
    init(_ connection: OpaquePointer, of entity: TrackedEntity, rowID: String?) throws {
        self.entity = entity
        columns = entity.columnNames.indices.map(Int32.init)
        keyColumns = entity.keyPositions.map(Int32.init)
        let names = entity.columnNames.map(SQLName.quoted).joined(separator: ", ")
        let key = entity.layout.key.map(SQLName.quoted)
        let table = "FROM \(SQLName.quoted(entity.name))"
        let isKey = key.enumerated().map { "\($1) IS ?\($0 + 1)" }.joined(separator: " AND ")
        one = try Statement("SELECT \(names) \(table) WHERE \(isKey)", on: connection)
        isByRowID = rowID != nil
        let order = rowID ?? key.joined(separator: ", ")
        let marks = rowID == nil ? key.indices.map { "?\($0 + 2)" } : ["?2"]
        let page =
            "SELECT \(([names] + (rowID.map { [$0] } ?? [])).joined(separator: ", ")) \(table)"
        let end = "ORDER BY \(order) LIMIT ?1"
        first = try Statement("\(page) \(end)", on: connection)
        next = try Statement(
            "\(page) WHERE (\(order)) > (\(marks.joined(separator: ", "))) \(end)", on: connection)
    }

    /// Why the rows of an entity's table cannot be read in this process, as where SQLite lacks a
    /// collation or function that the application defines; nil when they can.
    ///
    /// - Throws: other errors than that of the statement.
    static func obstacle(to entity: TrackedEntity, on connection: OpaquePointer) throws -> String? {
        do {
            _ = try EntityRows(
                connection, of: entity,
                rowID: TableSchema.rowIDName(of: entity.name, on: connection))
            return nil
        } catch let error as SyncError where error.code == .refused {
            // Without the statement, which is ours.
            let statement = error.reason.firstRange(of: " in SELECT")
            return String(error.reason[..<(statement?.lowerBound ?? error.reason.endIndex)])
        }
    }

    /// The state of the object with this key, byte for byte; nil when it is not there. Under the
    /// collation of a key, another object may be found in its place.
    func state(of key: ObjectKey) throws -> FingerprintTable.Known? {
        one.bind(key.values)
        defer { one.reset() }
        while try one.step() {
            if zip(keyColumns, key.values).allSatisfy({ one.value($0) == $1 }) {
                return known(one)
            }
        }
        return nil
    }

    /// Where a page ended.
    package enum Position: Sendable {
        case start
        case rowID(Int64)
        case key([Value])
    }

    /// Calls `body` with key and row for at most `count` rows after `position`.
    ///
    /// - Returns: where to go on, or nil when there are no more.
    func forEach(
        after position: Position, count: Int,
        _ body: (Value, Statement) throws -> Void
    ) throws -> Position? {
        let page: Statement
        switch position {
        case .start: page = first
        case .rowID(let last):
            page = next
            page.bind(last, at: 2)
        case .key(let values):
            page = next
            for (index, value) in values.enumerated() { page.bind(value, at: Int32(index + 2)) }
        }
        page.bind(Int64(count), at: 1)
        defer { page.reset() }
        var end = position
        var seen = 0
        while try page.step() {
            seen += 1
            let key = keyColumns.map { page.value($0) }
            end = isByRowID ? .rowID(page.integer(Int32(columns.count))) : .key(key)
            if !key.contains(.null) {
                try body(NetChange.storedKey(ObjectKey(key)), page)
            }
        }
        return seen < count ? nil : end
    }

    /// The state to store for the present row of a statement of this table.
    func known(_ row: Statement) -> FingerprintTable.Known {
        .init(entity: entity.id, print: Fingerprint.of(row, columns: columns))
    }
}
