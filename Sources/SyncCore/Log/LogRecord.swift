import SyncValues

/// One event of the log with its whole value list, as docs/store-format.md §1 defines it.
package struct LogRecord {
    /// The seq of its first row.
    package let seq: Int64
    /// The seq of its last row: larger than `seq` when the list was continued.
    let lastSeq: Int64
    package let kind: LogKind
    /// The column `m`, unchanged.
    package let m: Int64
    /// Julian day of the statement; nil when a writer stored something else.
    package let time: Double?
    /// Nil for markers.
    package let entity: TrackedEntity?
    /// The value list: as long as the entity's layout says; NULL where rows were missing.
    package let values: [Value]

    /// The key: the first values of the list.
    package func key(_ entity: TrackedEntity) -> ObjectKey {
        ObjectKey(Array(values.prefix(entity.keyCount)))
    }

    /// Updates: the changed columns; bits beyond the last one say nothing.
    package func mask(_ entity: TrackedEntity) -> ColumnMask {
        var words = [UInt64(bitPattern: m)]
        for index in 0..<entity.layout.furtherMasks {
            guard case .integer(let word) = values[entity.keyCount + index] else { continue }
            words.append(UInt64(bitPattern: word))
        }
        return ColumnMask(words: words, below: entity.columnCount)
    }
}

extension LogRecord {
    /// What a marker row says.
    package struct Marker {
        /// `m` of a marker that ends.
        package static let end: Int64 = 1
        /// `m` of a marker that begins what was found by comparing.
        static let recovery: Int64 = 2

        package let isEnd: Bool
        /// What follows was not recorded as it happened.
        var isRecovery = false
        package let author: String?
        package let context: String?
        package let process: Transaction.Process?

        package init(
            isEnd: Bool,
            isRecovery: Bool = false,
            author: String?,
            context: String?,
            process: Transaction.Process?
        ) {
            self.isEnd = isEnd
            self.isRecovery = isRecovery
            self.author = author
            self.context = context
            self.process = process
        }
    }

    /// The marker in a record of kind `marker`.
    var marker: Marker {
        func text(_ value: Value) -> String? {
            switch value {
            case .text(let text): return text
            case .null: return nil
            default: return value.description
            }
        }
        let name = text(values[3])
        var process: Transaction.Process?
        if case .integer(let pid) = values[0] { process = .init(pid: pid, name: name) }
        return Marker(
            isEnd: m == Marker.end, isRecovery: m == Marker.recovery,
            author: text(values[1]), context: text(values[2]), process: process)
    }
}
