import Logging

/// Writes one line for each message to standard error, for a daemon in a terminal or under another
/// manager.
struct LineLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = "syncd: "
        if event.level >= .warning { line += "\(event.level): " }
        line += "\(event.message)"
        let fields = metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
        StandardError.write(line)
    }
}
