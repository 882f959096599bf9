import Foundation

/// Where a container's store is, and how it is opened.
public struct StoreDescription: Sendable {
    /// What kind of store.
    public enum Kind: Sendable, Hashable {
        /// A file, made when it is not there.
        case file(URL)
        /// In memory: SQLite all the same, and nothing on disk.
        case memory
        /// A store inside of a bundle, for reading. Its bytes never change; edits and saves live as
        /// long as the container.
        case bundle(URL)
        /// A copy, at `cache`, of a store inside of a bundle. With `alwaysCopy` it begins as the
        /// bundle's each time.
        case cachedCopy(of: URL, cache: URL, alwaysCopy: Bool)
    }

    /// What kind of store.
    public var kind: Kind
    /// The entities in it: those of a configuration of the model, or all.
    public var configuration: String?
    /// Nothing can be saved.
    public var isReadOnly = false
    /// `load` comes back at once.
    public var addsAsynchronously = false
    /// A store of an older model is migrated.
    public var migratesAutomatically = true
    /// Older models, in order, with what to do between them.
    public var stages: [MigrationStage] = []
    /// How long a save waits for another process's.
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
