import SyncMerge
import SyncValues

/// A change of a transaction, as `syncd_header.details` lists it.
struct ListedChange: Equatable {
    var object: ObjectUID
    /// The number of its entity in `syncd_shape`, above two bits of what was done.
    var word: UInt64
    /// The cells that were written, ascending.
    var cells: [Int]

    init(_ object: ObjectUID, shape: Int64, kind: ChangeKind, cells: [Int]) {
        (self.object, self.cells) = (object, cells)
        word = UInt64(shape) << 2 | UInt64(kind.rawValue)
    }

    /// - Throws: `badData` for other bytes.
    fileprivate init(
        from reader: inout ByteReader, object: ObjectUID, after last: ListedChange?
    ) throws {
        self.object = object
        word = try reader.varint()
        let count = try reader.countOfRest(atMost: reader.remaining)
        cells = try reader.cells(
            count, below: BatchLimits.entitiesMax + 1, after: last?.cells ?? [])
    }

    var shape: Int64 { Int64(word >> 2) }
    /// nil in damaged bytes.
    var kind: ChangeKind? { ChangeKind(rawValue: Int(word & 3)) }
}

/// Writes the changes of a transaction. Each says what differs from the one before it.
///
/// It begins with a number: bit 0 says that entity, kind and cells are the same; bit 1 that the
/// identity has the same origin among those that ascend (``PrivateIdentity``). Then the other bits
/// are its distance from the one before, zigzag, and four bytes of hash follow; otherwise the whole
/// identity does.
///
/// The bytes of one writer may follow those of another one: the first change refers to none.
struct ListedChangeWriter {
    private var writer = ByteWriter()
    private var last: ListedChange?
    /// How many were written.
    private(set) var count = 0

    var bytes: [UInt8] { writer.bytes }

    /// - Complexity: O(cells)
    mutating func append(_ change: ListedChange) {
        let isAlike = last.map { $0.word == change.word && $0.cells == change.cells } ?? false
        let (bit, low) = (UInt64(isAlike ? 1 : 0), change.object.low)
        if let last, last.object.high == change.object.high {
            let distance = Int64(low >> 32) - Int64(last.object.low >> 32)
            let zigzag = UInt64(bitPattern: distance << 1 ^ distance >> 63)
            writer.append(varint: zigzag << 2 | 2 | bit)
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: low).bigEndian) {
                writer.append(bytes: $0)
            }
        } else {
            writer.append(varint: bit)
            writer.append(change.object)
        }
        if !isAlike {
            writer.append(varint: change.word)
            writer.append(varint: UInt64(change.cells.count))
            for cell in change.cells { writer.append(varint: UInt64(cell)) }
        }
        last = change
        count += 1
    }

    /// Begins again, with the memory that it has.
    mutating func removeAll() {
        writer.removeAll()
        (last, count) = (nil, 0)
    }
}

/// Reads what ``ListedChangeWriter`` wrote, and what versions before it did: 16 bytes of identity,
/// entity, kind and cells of each change.
struct ListedChangeReader {
    private let isShort: Bool
    private var last: ListedChange?

    /// - Parameter isShort: whether ``ListedChangeWriter`` wrote the bytes.
    init(isShort: Bool) { self.isShort = isShort }

    /// The next change.
    /// - Throws: `badData` for other bytes.
    /// - Complexity: O(cells)
    mutating func next(from reader: inout ByteReader) throws -> ListedChange {
        let change =
            try isShort
            ? short(&reader)
            : ListedChange(
                from: &reader, object: reader.identifier(ObjectUID.self), after: last)
        last = change
        return change
    }

    private func short(_ reader: inout ByteReader) throws -> ListedChange {
        let head = try reader.varint()
        let object =
            try head & 2 == 0
            ? reader.identifier(ObjectUID.self) : neighbour(at: head >> 2, &reader)
        guard head & 1 == 1 else {
            return try ListedChange(from: &reader, object: object, after: last)
        }
        guard var change = last else { throw Self.damaged }
        change.object = object
        return change
    }

    private func neighbour(at zigzag: UInt64, _ reader: inout ByteReader) throws -> ObjectUID {
        let distance = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
        let hash = try reader.raw(4).reduce(0) { $0 << 8 | UInt64($1) }
        guard let last = last?.object, distance.magnitude <= UInt64(UInt32.max),
            let number = UInt32(exactly: Int64(last.low >> 32) + distance)
        else { throw Self.damaged }
        return ObjectUID(high: last.high, low: UInt64(number) << 32 | hash)
    }

    private static var damaged: SyncError {
        SyncError(.badData, "a change refers to one that is not there")
    }
}
