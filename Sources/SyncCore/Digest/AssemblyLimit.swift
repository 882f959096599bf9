import SyncValues

/// How large a transaction may be that is assembled in memory.
struct AssemblyLimit: Sendable {
    /// Objects that it changed. Each takes some 500 bytes and its values.
    let changesMax: Int
    /// Bytes of the values in its log rows.
    let bytesMax: Int

    /// Every transaction is assembled.
    static let none = AssemblyLimit(changesMax: .max, bytesMax: .max)

    /// About 30 MB at most. Smaller would send more transactions the long way
    /// (``LargeTransaction``), which reads the log twice; larger is memory that a daemon needs for
    /// one commit.
    static let memory = AssemblyLimit(changesMax: 20_000, bytesMax: 16 << 20)

    var isLimited: Bool { changesMax < .max || bytesMax < .max }

    func isExceeded(changes: Int, bytes: Int) -> Bool { changes > changesMax || bytes > bytesMax }
}

extension LogRecord {
    /// The bytes of its texts and blobs.
    var valueBytes: Int {
        var bytes = 0
        for value in values {
            switch value {
            case .blob(let blob): bytes += blob.count
            case .text(let text): bytes += text.utf8.count
            case .null, .integer, .real: break
            }
        }
        return bytes
    }
}
