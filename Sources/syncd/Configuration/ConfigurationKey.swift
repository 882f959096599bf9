/// One option of the configuration files. The reader knows no others, docs/configuration.md lists
/// each, and `synctool config` shows their values.
struct ConfigurationKey: Sendable {
    /// With the keys above it: `sync.delayMilliseconds`; `stores[].path` is one of each store.
    let name: String
    /// What it takes.
    let type: String
    /// Its value, as a file would have it; nil for what each store has its own of.
    let value: (@Sendable (Configuration) -> String)?

    private init(
        _ name: String, _ type: String, _ value: (@Sendable (Configuration) -> String)? = nil
    ) {
        self.name = name
        self.type = type
        self.value = value
    }

    /// All options, in the order of the page.
    static let all: [ConfigurationKey] = daemon + background + metrics + stores

    /// The names of the options directly below one, which is empty at the top level.
    static func names(below parent: String) -> [String] {
        let prefix = parent.isEmpty ? "" : parent + "."
        var names: [String] = []
        for key in all where key.name.hasPrefix(prefix) {
            let name = String(key.name.dropFirst(prefix.count).prefix { $0 != "." && $0 != "[" })
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    private static let never = "never"

    private static let daemon: [ConfigurationKey] = [
        .init("socket", "absolute path") { $0.socket },
        .init("socketMode", "file mode, octal") { mode($0.socketMode) },
        .init("state", "absolute path") { $0.stateDirectory },
        .init("log", "trace, debug, info, notice, warning, error, critical") {
            $0.logLevel.rawValue
        },
        .init("connections", "1 to 65536") { "\($0.connectionsMax)" },
        .init("queuedBytes", "4096 to 1073741824 bytes") { "\($0.queuedBytesMax)" },
        .init("purge.age", "duration") { $0.limits.age.map(duration) ?? never },
        .init("purge.size", "size") { $0.limits.bytes.map(size) ?? never },
        .init("compare", "duration, or never") { $0.compareInterval.map(duration) ?? never },
    ]

    private static let background: [ConfigurationKey] = [
        .init("sync.enabled", "true, false") { "\($0.replication.isEnabled)" },
        .init("sync.delayMilliseconds", "0 to 60000 ms") { "\($0.replication.delayMilliseconds)" },
        .init("sync.intervalSeconds", "1 to 86400 s") { "\($0.replication.intervalSeconds)" },
        .init("sync.retryMaxSeconds", "1 to 86400 s") { "\($0.replication.retryMaxSeconds)" },
        .init("workers.enabled", "true, false") { "\($0.workers.isEnabled)" },
        .init("workers.memory", "size, 256MB or more") { size($0.workers.memoryBytes) },
        .init("workers.answerSeconds", "1 to 3600 s") { "\($0.workers.answerSeconds)" },
    ]

    private static let metrics: [ConfigurationKey] = [
        .init("metrics.socket", "absolute path") { $0.metrics.socket ?? "none" },
        .init("metrics.socketMode", "file mode, octal") {
            mode($0.metrics.socketMode ?? $0.socketMode)
        },
        .init("metrics.listen", "127.0.0.1:PORT, [::1]:PORT") {
            $0.metrics.listen.map(address) ?? "none"
        },
        .init("metrics.stores", "permitted, all, none") { $0.metrics.stores.rawValue },
    ]

    private static let stores: [ConfigurationKey] = [
        .init("stores[].path", "absolute path"),
        .init("stores[].track", "true, false"),
        .init("stores[].entities", "list of tables"),
        .init("stores[].undo", "list of tables, or [\"*\"]"),
        .init("stores[].keep", "all, none"),
        .init("stores[].purge.age", "duration"),
        .init("stores[].purge.size", "size"),
        .init("stores[].remotes[].name", "name"),
        .init("stores[].remotes[].url", "dir: or ssh: address"),
        .init("stores[].remotes[].encrypted", "true, false"),
        .init("stores[].remotes[].synctool", "path on the other machine"),
    ]

    // MARK: Values as a file has them

    private static func mode(_ mode: UInt32) -> String { "0" + String(mode, radix: 8) }

    private static func address(_ address: MetricsOptions.Loopback) -> String {
        (address.host.contains(":") ? "[\(address.host)]" : address.host) + ":\(address.port)"
    }

    static func duration(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let units: [(Int64, String)] = [(86_400, "d"), (3_600, "h"), (60, "m")]
        for (length, unit) in units where seconds.isMultiple(of: length) {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }

    static func size(_ bytes: Int64) -> String {
        let units: [(Int64, String)] = [
            (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"),
        ]
        for (length, unit) in units where bytes.isMultiple(of: length) {
            return "\(bytes / length)\(unit)"
        }
        return "\(bytes)"
    }
}
