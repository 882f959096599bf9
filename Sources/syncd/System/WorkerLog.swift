import Logging
import Varlink

/// Writes the messages of a worker, a JSON object each, to standard error: the daemon reads them
/// there and logs them as its own, with the worker's owner.
struct WorkerLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = JSONObject()
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            fields[key] = .string("\(value)")
        }
        var writer = JSONWriter()
        let line: JSONObject = [
            "level": .string(event.level.rawValue), "message": .string("\(event.message)"),
            "fields": .object(fields),
        ]
        writer.write(line)
        StandardError.write(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Logs a line that a worker wrote. One that is not a message of its log is what the system or
    /// the language's runtime said at its end.
    static func pass(_ line: String, of owner: UInt32, to log: Logger) {
        guard let object = (try? JSONParser.parse(line))?.object,
            let message = object["message"]?.string,
            let level = object["level"]?.string.flatMap(Logger.Level.init(rawValue:))
        else {
            if line.isEmpty { return }
            return log.error("a worker said: \(line)", metadata: ["owner": "\(owner)"])
        }
        var metadata: Logger.Metadata = ["owner": "\(owner)"]
        for member in object["fields"]?.object?.members ?? [] {
            metadata[member.name] = member.value.string.map { .string($0) }
        }
        log.log(level: level, "\(message)", metadata: metadata)
    }
}
