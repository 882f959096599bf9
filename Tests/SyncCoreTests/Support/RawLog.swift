import SyncTesting

@testable import SyncCore
@testable import SyncValues

/// One group of rows of `syncd_log`, decoded by `docs/store-format.md` §1 alone.
struct LogEntry: Equatable {
    var seq: Int64
    var entity: Int64
    var kind: LogKind
    var key: [Value]
    /// Changed columns: positions in the layout's columns.
    var changed: Set<Int> = []
    /// Kept values of a deleted row, by position.
    var kept: [Int: Value] = [:]
    /// Old values of an update, by position.
    var old: [Int: Value] = [:]
    var newKey: [Value] = []
    /// A REPLACE by a row with the same key.
    var isSameKey = false
}

/// A second reader of the log, so that the triggers are not judged by the code they come with.
struct RawLog {
    struct Malformed: Error { var reason: String }

    static func entries(_ db: PlainConnection, after: Int64 = 0) throws -> [LogEntry] {
        var layouts: [Int64: CaptureLayout] = [:]
        for row in try db.rows("SELECT id, layout FROM syncd_entity") {
            guard case .integer(let id) = row[0], case .text(let json) = row[1] else { continue }
            layouts[id] = try CaptureLayout(json: json)
        }
        let rows = try db.rows(
            """
            SELECT seq, op, m, ts, pk, v0, v1, v2, v3, v4, v5 FROM syncd_log
            WHERE seq > \(after) ORDER BY seq
            """)
        var entries: [LogEntry] = []
        var index = 0
        while index < rows.count {
            guard case .integer(let seq) = rows[index][0], case .integer(let op) = rows[index][1],
                let kind = LogKind(rawValue: op & 7), kind != .continued
            else { throw Malformed(reason: "row \(rows[index])") }
            let mask = rows[index][2]
            guard kind != .marker else {
                index += 1
                continue
            }
            guard case .real = rows[index][3], let layout = layouts[op >> 3] else {
                throw Malformed(reason: "no time or no layout: \(rows[index])")
            }
            let count = layout.valueCount(kind)
            var values = Array(rows[index][4...])
            index += 1
            while values.count < count {
                guard index < rows.count, rows[index][1] == .integer(op | 7),
                    rows[index][2] == .null, rows[index][3] == .null
                else { throw Malformed(reason: "continued row is missing after \(seq)") }
                values += rows[index][4...]
                index += 1
            }
            entries.append(
                try entry(seq, op >> 3, kind, mask, Array(values.prefix(count)), layout))
        }
        return entries
    }

    private static func entry(
        _ seq: Int64, _ entity: Int64, _ kind: LogKind, _ mask: Value, _ values: [Value],
        _ layout: CaptureLayout
    ) throws -> LogEntry {
        var entry = LogEntry(
            seq: seq, entity: entity, kind: kind, key: Array(values.prefix(layout.key.count)))
        let rest = Array(values.dropFirst(layout.key.count))
        switch kind {
        case .update:
            let masks = [mask] + rest.prefix(layout.furtherMasks)
            for (number, mask) in masks.enumerated() {
                guard case .integer(let bits) = mask else {
                    throw Malformed(reason: "mask \(mask) at \(seq)")
                }
                for bit in 0..<63 where bits >> bit & 1 == 1 {
                    entry.changed.insert(number * 63 + bit)
                }
            }
            if layout.undo {
                for (position, value) in rest.dropFirst(layout.furtherMasks).enumerated()
                where entry.changed.contains(position) { entry.old[position] = value }
            }
        case .delete, .replace:
            for (position, value) in zip(layout.kept, rest) { entry.kept[position] = value }
            entry.isSameKey = kind == .replace && mask == 1
        case .renumber: entry.newKey = rest
        case .insert, .deleting, .marker, .continued: break
        }
        return entry
    }
}
