import SyncStorage
import SyncValues

/// Appends records to the log, as the triggers do.
///
/// Within the transaction that the connection is in.
package struct LogAppender {
    private let insert: Statement
    private let time: Value

    /// - Parameter time: when it was found, milliseconds since 1970; nil: by SQLite's clock.
    package init(_ connection: OpaquePointer, at time: Int64? = nil) throws {
        self.time = time.map { .real(2_440_587.5 + Double($0) / 86_400_000) } ?? .null
        insert = try Statement(
            connection,
            """
            INSERT INTO syncd_log(op, m, ts, pk, v0, v1, v2, v3, v4, v5)
            VALUES (?1, ?2, CASE WHEN ?1 & 7 <> 7 THEN coalesce(?10, julianday('now')) END,
              ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
    }

    /// What follows, up to the end, was not seen by triggers but found by comparing.
    package func beginRecovery() throws {
        try append(LogKind.marker.op(0), LogRecord.Marker.recovery, [])
    }

    /// Ends what a beginning marker began.
    package func end() throws { try append(LogKind.marker.op(0), LogRecord.Marker.end, []) }

    /// - Parameter values: the value list of the kind; what is missing reads as NULL.
    package func append(
        _ kind: LogKind, _ entity: TrackedEntity, mask: ColumnMask = ColumnMask(), _ values: [Value]
    ) throws {
        var list = values
        if kind == .update {
            list += (0..<entity.layout.furtherMasks).map { index in
                mask.words.count > index + 1
                    ? .integer(Int64(bitPattern: mask.words[index + 1])) : .integer(0)
            }
        }
        let m = mask.words.first.map { Int64(bitPattern: $0) }
        try append(kind.op(entity.id), kind == .update ? m ?? 0 : nil, list)
        let perRow = CaptureLayout.valuesPerRow
        for start in stride(from: perRow, to: list.count, by: perRow) {
            try append(LogKind.continued.op(entity.id), nil, Array(list[start...].prefix(perRow)))
        }
    }

    private func append(_ op: Int64, _ m: Int64?, _ values: [Value]) throws {
        insert.bind(1, op)
        if let m { insert.bind(2, m) } else { insert.bindNull(2) }
        for index in 0..<CaptureLayout.valuesPerRow {
            insert.bind(Int32(3 + index), index < values.count ? values[index] : .null)
        }
        insert.bind(10, time)
        try insert.run()
    }
}
