import SyncCore
import SyncMerge
import SyncValues

/// `syncd_header.details`: author and changes of a transaction, for replicas that have not merged
/// it.
enum HeaderDetails {
    /// - Parameter shape: the number of an entity in `syncd_shape`.
    /// - Complexity: O(changes)
    static func encode(
        _ transaction: Batch.Transaction, shape: (_ entity: Int) -> Int64
    ) -> [UInt8] {
        var changes = ByteWriter()
        for change in transaction.changes {
            append(change, shape: shape(change.entity), to: &changes)
        }
        return encode(
            transaction, changes: changes.bytes, count: transaction.changes.count)
    }

    /// - Parameters:
    ///   - transaction: its own changes are ignored.
    ///   - changes: those that ``append(_:shape:to:)`` wrote.
    /// - Complexity: O(changes)
    static func encode(
        _ transaction: Batch.Transaction, changes: [UInt8], count: Int
    ) -> [UInt8] {
        var writer = ByteWriter()
        for text in [transaction.author, transaction.context, transaction.process] {
            writer.append(text.map(Value.text) ?? .null)
        }
        writer.append(transaction.pid.map(Value.integer) ?? .null)
        writer.append(varint: transaction.flags)
        writer.append(varint: UInt64(count))
        writer.append(raw: changes)
        return writer.bytes
    }

    /// Appends a change.
    /// - Complexity: O(cells)
    static func append(_ change: Batch.Change, shape: Int64, to writer: inout ByteWriter) {
        writer.append(change.object)
        writer.append(varint: UInt64(shape) << 2 | UInt64(change.kind.rawValue))
        writer.append(varint: UInt64(change.cells.count))
        for cell in change.cells { writer.append(varint: UInt64(cell)) }
    }

    /// The author, which is the first field.
    /// - Throws: `badData` for bytes that are no details.
    static func author(_ bytes: [UInt8]) throws -> String? {
        var reader = ByteReader(bytes)
        if case .text(let author) = try reader.value() { return author }
        return nil
    }

    /// The same details with other numbers for the cells of one entity.
    /// - Parameter places: the present cell of each former one; nil for a dropped one.
    /// - Throws: `badData` for bytes that are no details.
    /// - Complexity: O(changes)
    static func renumbered(
        _ bytes: [UInt8], shape: Int64, cells places: [Int?]
    ) throws -> [UInt8] {
        var reader = ByteReader(bytes)
        var writer = ByteWriter()
        for _ in 0..<4 { writer.append(try reader.value()) }
        writer.append(varint: try reader.varint())
        let count = try reader.countOfRest(atMost: bytes.count)
        writer.append(varint: UInt64(count))
        for _ in 0..<count {
            writer.append(try reader.identifier(ObjectUID.self))
            let word = try reader.varint()
            writer.append(varint: word)
            var cells = try (0..<(try reader.countOfRest(atMost: bytes.count))).map { _ in
                try reader.varint()
            }
            if word >> 2 == UInt64(shape) {
                let known = cells.filter { $0 < UInt64(places.count) }
                cells = Set(known.compactMap { places[Int($0)] }).sorted().map(UInt64.init)
            }
            writer.append(varint: UInt64(cells.count))
            for cell in cells { writer.append(varint: cell) }
        }
        return writer.bytes
    }

    /// Calls `body` for each change that is listed, with the number of its cells.
    /// - Throws: `badData` for bytes that are no details; what `body` throws.
    /// - Complexity: O(changes)
    static func forEachChange(
        in bytes: [UInt8], _ body: (_ shape: Int64, ChangeKind, _ cellCount: Int) throws -> Void
    ) throws {
        var reader = ByteReader(bytes)
        for _ in 0..<4 { _ = try reader.value() }
        _ = try reader.varint()
        for _ in 0..<(try reader.countOfRest(atMost: bytes.count)) {
            _ = try reader.raw(16)
            let word = try reader.varint()
            let cellCount = try reader.countOfRest(atMost: bytes.count)
            for _ in 0..<cellCount { _ = try reader.varint() }
            guard let kind = ChangeKind(rawValue: Int(word & 3)) else { continue }
            try body(Int64(word >> 2), kind, cellCount)
        }
    }

    /// - Parameter entity: the position of a shape's entity; the changes of a shape without one
    ///   are left out.
    /// - Throws: `badData` for bytes that are no details; what `entity` throws.
    /// - Complexity: O(changes)
    static func decode(
        _ bytes: [UInt8], of header: TransactionHeader, entity: (_ shape: Int64) throws -> Int?
    ) throws -> Batch.Transaction {
        var reader = ByteReader(bytes)
        func text() throws -> String? {
            if case .text(let text) = try reader.value() { return text }
            return nil
        }
        var transaction = Batch.Transaction(header)
        transaction.author = try text()
        transaction.context = try text()
        transaction.process = try text()
        if case .integer(let pid) = try reader.value() { transaction.pid = pid }
        transaction.flags = try reader.varint()
        var cells: [Int] = []
        for _ in 0..<(try reader.countOfRest(atMost: bytes.count)) {
            let object = try reader.identifier(ObjectUID.self)
            let word = try reader.varint()
            let count = try reader.countOfRest(atMost: bytes.count)
            cells = try reader.cells(count, below: BatchLimits.entitiesMax + 1, after: cells)
            guard let kind = ChangeKind(rawValue: Int(word & 3)),
                let entity = try entity(Int64(word >> 2))
            else { continue }
            transaction.changes.append(
                Batch.Change(object, entity: entity, kind: kind, cells: cells))
        }
        return transaction
    }
}
