import SyncMerge

/// The places of the facts in a record's bytes (``RecordCoding``): read without making an object of
/// any of them.
///
/// One is used for many records, so that its arrays are allocated once.
struct LaneRecord {
    /// The versions of a cell.
    struct Cell {
        /// Where it begins, in a record that is not compact with the number of its versions, and
        /// where it ends.
        var start = 0
        var end = 0
        var count = 0
        /// Of the first version: its transaction, its incarnation, and where its fields begin.
        var dot = RecordDot()
        var incarnation = 0
        var fields = 0
    }

    /// How many life facts there are; the first one.
    private(set) var lifeCount = 0
    private(set) var lifeKind = UInt8(0)
    private(set) var lifeIncarnation = 0
    private(set) var lifeDot = RecordDot()
    private(set) var cells: [Cell] = []
    private(set) var versionCount = 0
    /// Whether a version has the state of a counter, a set or a text, or a value that begins as
    /// one: it is shown otherwise than it is stored.
    private(set) var hasStates = false
    /// Whether a version states a part of its cell.
    private(set) var hasParts = false
    /// Where the identities are that versions refer to.
    private(set) var targets: [Int] = []

    /// Whether its object lives its only life, with one version of each cell.
    var isSimple: Bool {
        lifeCount == 1 && !hasParts && lifeKind == LifeKind.created.rawValue
            && cells.allSatisfy { $0.count == 1 && $0.incarnation == lifeIncarnation }
    }

    /// Reads a record.
    /// - Parameter widths: the number of columns of each cell.
    /// - Returns: false for bytes that are no record of these cells.
    /// - Complexity: O(bytes)
    mutating func read(_ bytes: UnsafeRawBufferPointer, widths: [Int]) -> Bool {
        var reader = RecordReader(bytes)
        cells.removeAll(keepingCapacity: true)
        targets.removeAll(keepingCapacity: true)
        versionCount = 0
        lifeCount = reader.lifeCount
        for place in 0..<lifeCount {
            let life = reader.life()
            if place > 0 { continue }
            (lifeKind, lifeIncarnation, lifeDot) = (life.kind, life.incarnation, life.dot)
        }
        guard reader.hasCells(widths.count) else { return false }
        for width in widths {
            var cell = Cell()
            cell.start = reader.cursor.position
            cell.count = reader.versionCount()
            versionCount += cell.count
            for place in 0..<cell.count {
                let version = reader.version()
                if place == 0 {
                    (cell.dot, cell.incarnation) = (version.dot, version.incarnation)
                    cell.fields = reader.cursor.position
                }
                for _ in 0..<width {
                    if let target = reader.cursor.skipField() { targets.append(target) }
                }
                if reader.cursor.isBroken { return false }
            }
            cell.end = reader.cursor.position
            cells.append(cell)
        }
        hasStates = reader.cursor.hasMetState
        hasParts = reader.cursor.hasMetPart
        return !reader.cursor.isBroken && reader.cursor.isAtEnd
    }
}
