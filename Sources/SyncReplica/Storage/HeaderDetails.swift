import SyncCore
import SyncMerge
import SyncValues

/// `syncd_header.details`: author and changes of a transaction, for replicas that have not merged
/// it.
///
/// Bytes that begin with ``short`` have changes of ``ListedChangeWriter``; others, which versions
/// before it wrote, begin with the tag of the author.
enum HeaderDetails {
    /// No tag of a value.
    private static let short: UInt8 = 0xFF

    /// What comes before the changes.
    private struct Origin {
        var author, context, process: Value
        var pid: Value
        var flags: UInt64

        init(_ transaction: Batch.Transaction) {
            author = transaction.author.map(Value.text) ?? .null
            context = transaction.context.map(Value.text) ?? .null
            process = transaction.process.map(Value.text) ?? .null
            pid = transaction.pid.map(Value.integer) ?? .null
            flags = transaction.flags
        }

        /// - Throws: `badData` for other bytes.
        init(from reader: inout ByteReader, author: Value) throws {
            self.author = author
            (context, process, pid) = (try reader.value(), try reader.value(), try reader.value())
            flags = try reader.varint()
        }

        func write(to writer: inout ByteWriter) {
            for value in [author, context, process, pid] { writer.append(value) }
            writer.append(varint: flags)
        }

        func fill(_ transaction: inout Batch.Transaction) {
            func text(_ value: Value) -> String? {
                if case .text(let text) = value { text } else { nil }
            }
            transaction.author = text(author)
            transaction.context = text(context)
            transaction.process = text(process)
            if case .integer(let pid) = pid { transaction.pid = pid }
            transaction.flags = flags
        }
    }

    /// - Parameter shape: the number of an entity in `syncd_shape`.
    /// - Complexity: O(changes)
    static func encode(
        _ transaction: Batch.Transaction, shape: (_ entity: Int) -> Int64
    ) -> [UInt8] {
        var changes = ListedChangeWriter()
        for change in transaction.changes {
            changes.append(
                ListedChange(
                    change.object, shape: shape(change.entity), kind: change.kind,
                    cells: change.cells))
        }
        return encode(transaction, changes: changes.bytes, count: changes.count)
    }

    /// - Parameters:
    ///   - transaction: its own changes are ignored.
    ///   - changes: what one ``ListedChangeWriter`` wrote, or several, one after the other.
    /// - Complexity: O(changes)
    static func encode(
        _ transaction: Batch.Transaction, changes: [UInt8], count: Int
    ) -> [UInt8] { encode(Origin(transaction), changes: changes, count: count) }

    private static func encode(_ origin: Origin, changes: [UInt8], count: Int) -> [UInt8] {
        var writer = ByteWriter(capacity: changes.count + 64)
        writer.append(byte: short)
        origin.write(to: &writer)
        writer.append(varint: UInt64(count))
        writer.append(raw: changes)
        return writer.bytes
    }

    /// The author, which is the first field.
    /// - Throws: `badData` for bytes that are no details.
    static func author(_ bytes: [UInt8]) throws -> String? {
        var reader = ByteReader(bytes)
        if case .text(let author) = try self.author(from: &reader).value { return author }
        return nil
    }

    private static func author(
        from reader: inout ByteReader
    ) throws -> (value: Value, isShort: Bool) {
        let first = try reader.byte()
        let isShort = first == short
        return (isShort ? try reader.value() : try reader.value(tag: first), isShort)
    }

    /// The same details with other numbers for the cells of one entity.
    /// - Parameter places: the present cells of each former one; none for a dropped one.
    /// - Throws: `badData` for bytes that are no details.
    /// - Complexity: O(changes)
    static func renumbered(
        _ bytes: [UInt8], shape: Int64, cells places: [[Int]]
    ) throws -> [UInt8] {
        var changes = ListedChangeWriter()
        let origin = try read(bytes) { change in
            var change = change
            if change.shape == shape {
                let known = change.cells.filter { $0 < places.count }
                change.cells = Set(known.flatMap { places[$0] }).sorted()
            }
            changes.append(change)
        }
        return encode(origin, changes: changes.bytes, count: changes.count)
    }

    /// Calls `body` for each change that is listed.
    /// - Throws: `badData` for bytes that are no details; what `body` throws.
    /// - Complexity: O(changes)
    static func forEachChange(in bytes: [UInt8], _ body: (ListedChange) throws -> Void) throws {
        _ = try read(bytes, body)
    }

    private static func read(
        _ bytes: [UInt8], _ body: (ListedChange) throws -> Void
    ) throws -> Origin {
        var reader = ByteReader(bytes)
        let (author, isShort) = try author(from: &reader)
        let origin = try Origin(from: &reader, author: author)
        var changes = ListedChangeReader(isShort: isShort)
        for _ in 0..<(try reader.countOfRest(atMost: bytes.count)) {
            try body(try changes.next(from: &reader))
        }
        return origin
    }

    /// - Parameter entity: the position of a shape's entity; the changes of a shape without one
    ///   are left out.
    /// - Throws: `badData` for bytes that are no details; what `entity` throws.
    /// - Complexity: O(changes)
    static func decode(
        _ bytes: [UInt8], of header: TransactionHeader, entity: (_ shape: Int64) throws -> Int?
    ) throws -> Batch.Transaction {
        var transaction = Batch.Transaction(header)
        let origin = try read(bytes) { change in
            guard let kind = change.kind, let entity = try entity(change.shape) else { return }
            transaction.changes.append(
                Batch.Change(change.object, entity: entity, kind: kind, cells: change.cells))
        }
        origin.fill(&transaction)
        return transaction
    }
}
