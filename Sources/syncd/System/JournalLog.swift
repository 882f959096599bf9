import CSystemd
import Glibc
import Logging

/// Writes to the journal with syncd's own fields: `SYNCD_STORE=`, `SYNCD_TRANSACTION=`, …
///
///     journalctl -u syncd SYNCD_STORE=/srv/music.db
struct JournalLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Whether standard error is connected to the journal: then messages may go there directly.
    static var isAvailable: Bool {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
        var fields = [
            "MESSAGE=\(Self.text("\(event.message)", of: all["store"]))",
            "PRIORITY=\(event.level.journalPriority)",
            "SYSLOG_IDENTIFIER=syncd",
        ]
        for (key, value) in all {
            fields.append("SYNCD_\(key.uppercased())=\(value)")
        }
        send(fields)
    }

    /// A message about a store begins with its path: journalctl shows no fields by default.
    static func text(_ message: String, of store: Logger.MetadataValue?) -> String {
        guard let store else { return message }
        let path = "\(store)"
        return message.hasPrefix(path) ? message : "\(path): \(message)"
    }

    /// One block of memory holds all fields while the journal's client reads them.
    private func send(_ fields: [String]) {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for field in fields {
            bytes.append(contentsOf: field.utf8)
            ends.append(bytes.count)
        }
        bytes.withUnsafeMutableBytes { block in
            var start = 0
            let vectors = ends.map { end in
                defer { start = end }
                return iovec(
                    iov_base: block.baseAddress.map { $0 + start }, iov_len: end - start)
            }
            _ = sd_journal_sendv(vectors, Int32(vectors.count))
        }
    }
}

extension Logger.Level {
    /// syslog(3)'s number.
    fileprivate var journalPriority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
