import Logging
import SyncReplica
import SyncStorage

/// The daemon's settings: its files, overridden by the environment, overridden by flags.
struct Configuration: Sendable, Equatable, Codable {
    /// A store to open at start.
    struct StoreEntry: Sendable, Equatable, Codable {
        /// The database file, as the configuration has it.
        var path: String
        /// Where it is named: `FILE:LINE`, or the flag; nil for one that a client tracked.
        var place: String?
        /// Track the database at start if it is not tracked.
        var track = false
        /// Only these tables; empty: all.
        var entities: [String] = []
        /// Entities that keep the old values of updates; `*`: all.
        var undo: [String] = []
        /// Whether deleted objects keep their values; nil: not said, and they do.
        var keepsValues: Bool?
        /// What is purged automatically; empty: as `purge` of the whole daemon says.
        var limits = HistoryLimits()
        /// What the daemon synchronises the store with, besides the remotes in its file if the
        /// store is the daemon's own.
        var remotes: [RemoteEntry] = []
    }

    /// Where to listen, unless a socket is passed in.
    var socket: String
    /// The mode of a socket that the daemon makes.
    var socketMode: UInt32
    /// Where the daemon keeps the list of the stores that were tracked at run time.
    var stateDirectory: String
    /// The least severe messages that are written.
    var logLevel: Logger.Level = .info
    /// Connections at once.
    var connectionsMax = 4096
    /// Bytes in a client's queue before it lags. Too low makes short bursts lag; the product
    /// with `connectionsMax` is memory.
    var queuedBytesMax = 1 << 20
    /// What every store purges automatically, unless its entry says otherwise.
    var limits = HistoryLimits()
    /// How often all rows of a store are compared with what is remembered of them; nil: never.
    var compareInterval: Duration? = .seconds(7 * 86_400)
    /// When stores are synchronised with their remotes.
    var replication = ReplicationOptions()
    /// The processes for the stores of other users.
    var workers = WorkerOptions()
    /// Where numbers for monitoring are served.
    var metrics = MetricsOptions()
    /// Stores to open at start.
    var stores: [StoreEntry] = []

    /// Files beside those of stores that were not read, because of their names.
    var ignoredFiles: [String] = []
    /// Where the options that were set were set, by ``ConfigurationKey/name``: `FILE:LINE`, a flag
    /// or a variable. Others have their defaults.
    var sources: [String: String] = [:]

    /// The remotes of ``stores``, by paths with their links resolved.
    var remotesByPath: ExactMap<[RemoteEntry]> {
        let named = stores.map { (PathResolution.resolved($0.path), $0.remotes) }
        return ExactMap(named) { _, last in last }.filter { !$0.value.isEmpty }
    }

    /// The defaults of a system's or a user's daemon.
    init(_ paths: ConfigurationPaths) {
        socket = paths.socket
        socketMode = paths.isSystem ? 0o660 : 0o600
        stateDirectory = paths.stateDirectory
    }
}
