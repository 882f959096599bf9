/// An option of the daemon, as it runs with it.
public struct Setting: Sendable, Hashable {
    /// As in the configuration's files, with the keys above it: `sync.intervalSeconds`. A store is
    /// `stores[PATH]`, and its options `stores[PATH].track`.
    public let name: String
    /// As a file would have it.
    public let value: String
    /// Where it was set: `FILE:LINE`, a flag or a variable; nil: it has its default.
    public let source: String?

    /// Makes a setting.
    public init(name: String, value: String, source: String?) {
        self.name = name
        self.value = value
        self.source = source
    }
}
