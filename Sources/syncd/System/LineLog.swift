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
        StandardError.write(Self.printable(line))
    }

    /// Paths are chosen by the owners of databases: one with a line break must not add a line.
    private static func printable(_ line: String) -> String {
        guard line.unicodeScalars.contains(where: isControl) else { return line }
        return line.unicodeScalars.reduce(into: "") { text, scalar in
            if isControl(scalar) {
                text += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
