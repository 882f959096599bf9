import Foundation

/// Where a container's store is, and how it is opened.
public struct StoreDescription: Sendable {
    /// What kind of store.
    public enum Kind: Sendable, Hashable {
        /// A file, created if it does not exist.
        case file(URL)
        /// In memory: SQLite, with nothing on disk.
        case memory
        /// A read-only store in a bundle. Its file never changes; saves are kept in memory as long
        /// as the container.
        case bundle(URL)
        /// A copy, at `cache`, of a store in a bundle. With `alwaysCopy` it is made again each
        /// time.
        case cachedCopy(of: URL, cache: URL, alwaysCopy: Bool)
    }

    /// What kind of store.
    public var kind: Kind
    /// The entities in it: those of a configuration of the model, or all.
    public var configuration: String?
    /// Nothing can be saved.
    public var isReadOnly = false
    /// `load(_:)` returns at once.
    public var addsAsynchronously = false
    /// A store of an older model is migrated.
    public var migratesAutomatically = true
    /// Older models, in order, with what to do between them.
    public var stages: [MigrationStage] = []
    /// How long a save waits for a writer of another process.
    public var busyTimeout: Duration = .seconds(5)

    /// A store of that kind.
    public init(_ kind: Kind) { self.kind = kind }

    /// The store's file; nil in memory.
    public var url: URL? {
        switch kind {
        case .file(let url), .bundle(let url), .cachedCopy(_, let url, _): return url
        case .memory: return nil
        }
    }
}
