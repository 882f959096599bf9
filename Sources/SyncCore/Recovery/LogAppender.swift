import SyncStorage
import SyncValues

/// Appends records to the log, as the triggers do.
///
/// Within the transaction that the connection is in.
package struct LogAppender {
    private let connection: OpaquePointer
    private let insert: Statement
    private let time: Value

    /// - Parameter time: when it was found, milliseconds since 1970; nil: by SQLite's clock.
    /// - Throws: `refused` when the log is missing.
    package init(_ connection: OpaquePointer, at time: Int64? = nil) throws {
        self.connection = connection
        self.time = time.map { .real(2_440_587.5 + Double($0) / 86_400_000) } ?? .null
        insert = try Statement(LogTable.appendSQL, on: connection)
    }

    /// What follows, up to the end, was not seen by triggers but found by comparing.
    ///
    /// No statement is within its triggers now, so that whatever the guard keeps is done with: of
    /// an object that is missing it would say, at the next insert, that it has just been replaced.
    ///
    /// - Parameter migration: during which it was written; nil: unknown.
    /// - Throws: the error of SQLite.
    package func beginRecovery(of migration: Migration? = nil) throws {
        let values: [Value] =
            migration.map { [.null, .text(Migration.author), .text($0.context)] } ?? []
        try append(op: LogKind.marker.op(0), mask: LogRecord.Marker.recovery, values: values)
        try RawTransaction.execute("DELETE FROM syncd_guard", on: connection)
    }

    /// Ends what a beginning marker began.
    /// - Throws: the error of SQLite.
    package func end() throws {
        try append(op: LogKind.marker.op(0), mask: LogRecord.Marker.end, values: [])
    }

    /// - Parameter values: the value list of the kind; what is missing reads as NULL.
    /// - Throws: the error of SQLite.
    package func append(
        _ kind: LogKind, of entity: TrackedEntity, mask: ColumnMask = ColumnMask(), values: [Value]
    ) throws {
        var list = values
        if kind == .update {
            list += (0..<entity.layout.furtherMasks).map { index in
                mask.words.count > index + 1
                    ? .integer(Int64(bitPattern: mask.words[index + 1])) : .integer(0)
            }
        }
        let m = mask.words.first.map { Int64(bitPattern: $0) }
        try append(op: kind.op(entity.id), mask: kind == .update ? m ?? 0 : nil, values: list)
        let perRow = CaptureLayout.valuesPerRow
        for start in stride(from: perRow, to: list.count, by: perRow) {
            try append(
                op: LogKind.continued.op(entity.id), mask: nil,
                values: Array(list[start...].prefix(perRow)))
        }
    }

    private func append(op: Int64, mask m: Int64?, values: [Value]) throws {
        insert.bind(op, at: 1)
        if let m { insert.bind(m, at: 2) } else { insert.bindNull(2) }
        for index in 0..<CaptureLayout.valuesPerRow {
            insert.bind(index < values.count ? values[index] : .null, at: Int32(3 + index))
        }
        insert.bind(time, at: 10)
        try insert.run()
    }
}
