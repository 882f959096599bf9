import SyncMerge
import SyncValues

/// The places of the facts in a record's bytes (``RecordCoding``): read without making an object of
/// any of them.
///
/// One is used for many records, so that its arrays are allocated once.
struct LaneRecord {
    /// A transaction, its replica by its number in `syncd_replica`.
    struct Name: Hashable {
        var replica: Int64 = 0
        var number: Int64 = 0
    }

    /// The versions of a cell.
    struct Cell {
        /// Where its count begins, and where the cell ends.
        var start = 0
        var end = 0
        var count = 0
        /// Of the first version: its transaction, its incarnation, and where its fields begin.
        var name = Name()
        var incarnation = 0
        var fields = 0
    }

    /// How many life facts there are; the first one.
    private(set) var lifeCount = 0
    private(set) var lifeKind = UInt8(0)
    private(set) var lifeIncarnation = 0
    private(set) var lifeName = Name()
    /// Where the count of the cells begins.
    private(set) var cellsStart = 0
    private(set) var cells: [Cell] = []
    /// The transactions of all versions, in the order of the cells.
    private(set) var names: [Name] = []
    /// Whether a version has the state of a counter, a set or a text, or a value that begins as
    /// one: it is shown otherwise than it is stored.
    private(set) var hasStates = false
    /// Where the identities are that versions refer to.
    private(set) var targets: [Int] = []

    /// Whether its object lives its only life, with one version of each cell.
    var isSimple: Bool {
        lifeCount == 1 && lifeKind == LifeKind.created.rawValue
            && cells.allSatisfy { $0.count == 1 && $0.incarnation == lifeIncarnation }
    }

    /// Reads a record.
    /// - Parameter widths: the number of columns of each cell.
    /// - Returns: false for bytes that are no record of these cells.
    /// - Complexity: O(bytes)
    mutating func read(_ bytes: UnsafeRawBufferPointer, widths: [Int]) -> Bool {
        var cursor = ByteCursor(bytes)
        cells.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
        targets.removeAll(keepingCapacity: true)
        guard let lives = count(&cursor, of: bytes) else { return false }
        lifeCount = lives
        for life in 0..<lives {
            let kind = cursor.byte()
            let incarnation = Int(truncatingIfNeeded: cursor.varint())
            let name = self.name(&cursor)
            if life == 0 { (lifeKind, lifeIncarnation, lifeName) = (kind, incarnation, name) }
        }
        cellsStart = cursor.position
        guard cursor.varint() == UInt64(widths.count) else { return false }
        for width in widths {
            var cell = Cell()
            cell.start = cursor.position
            guard let versions = count(&cursor, of: bytes) else { return false }
            cell.count = versions
            for version in 0..<versions {
                let name = self.name(&cursor)
                let incarnation = Int(truncatingIfNeeded: cursor.varint())
                names.append(name)
                if version == 0 {
                    (cell.name, cell.incarnation) = (name, incarnation)
                    cell.fields = cursor.position
                }
                for _ in 0..<width {
                    if let target = cursor.skipField() { targets.append(target) }
                }
                if cursor.isBroken { return false }
            }
            cell.end = cursor.position
            cells.append(cell)
        }
        hasStates = cursor.hasMetState
        return !cursor.isBroken && cursor.position == bytes.count
    }

    /// A number of facts; nil: more than the record has bytes.
    private func count(_ cursor: inout ByteCursor, of bytes: UnsafeRawBufferPointer) -> Int? {
        Int(exactly: cursor.varint()).flatMap { $0 <= bytes.count ? $0 : nil }
    }

    private func name(_ cursor: inout ByteCursor) -> Name {
        let replica = Int64(truncatingIfNeeded: cursor.varint())
        return Name(replica: replica, number: Int64(truncatingIfNeeded: cursor.varint()))
    }
}

/// Reads bytes in place. Beyond their end everything is 0, and ``isBroken`` is true.
struct ByteCursor {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private(set) var isBroken = false
    /// Whether a blob was skipped that begins as a state does.
    private(set) var hasMetState = false

    init(_ bytes: UnsafeRawBufferPointer, at position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    /// The byte that is read next; 0 at the end.
    var next: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func byte() -> UInt8 {
        guard position < bytes.count else {
            isBroken = true
            return 0
        }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func varint() -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let next = byte()
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
        }
        isBroken = true
        return 0
    }

    /// Eight bytes, most significant first.
    mutating func bigEndian() -> UInt64 {
        guard bytes.count - position >= 8 else {
            isBroken = true
            return 0
        }
        defer { position += 8 }
        return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    mutating func skip(_ count: Int) {
        guard count >= 0, count <= bytes.count - position else {
            isBroken = true
            return
        }
        position += count
    }

    /// Skips a field.
    /// - Returns: where the identity begins that it refers to; nil for a plain value.
    mutating func skipField() -> Int? {
        switch byte() {
        case 0: break
        case 1: _ = varint()
        case 2: skip(8)
        case 3: skip(Int(truncatingIfNeeded: varint()))
        case 4:
            let count = Int(truncatingIfNeeded: varint())
            let start = position
            skip(count)
            if !isBroken,
                BlendCoding.escapes(UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
            {
                hasMetState = true
            }
        case RecordCoding.referenceTag:
            let start = position
            skip(16)
            _ = varint()
            return isBroken ? nil : start
        default: isBroken = true
        }
        return nil
    }
}
