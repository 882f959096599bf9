import Logging
import SyncCore

/// What the daemon was told: by its files, overridden by the environment, overridden by flags.
struct Configuration: Sendable, Equatable {
    /// A store to open at start.
    struct StoreEntry: Sendable, Equatable {
        /// The database file, as it was written.
        var path: String
        /// Install capture at start where it is missing.
        var track = false
        /// Only these tables; empty: all.
        var entities: [String] = []
        /// Entities that keep the old values of updates; `*`: all.
        var undo: [String] = []
        /// Deleted objects keep their values.
        var keepsValues = true
        /// What is purged without being asked; what the store does not say, `purge` of the whole
        /// daemon says.
        var limits = HistoryLimits()
    }

    /// Where to listen, unless a socket is passed in.
    var socket: String
    /// The mode of a socket that the daemon makes.
    var socketMode: UInt32
    /// Where the daemon remembers the stores that it was asked to track.
    var stateDirectory: String
    /// The least severe messages that are written.
    var logLevel: Logger.Level = .info
    /// Connections at once.
    var connectionsMax = 4096
    /// Bytes that wait for a client before it lags. Too low makes short bursts lag; the product
    /// with `connectionsMax` is memory.
    var queuedBytesMax = 1 << 20
    /// What every store purges by itself, unless its entry says otherwise.
    var limits = HistoryLimits()
    /// When stores are synchronised with their remotes.
    var replication = ReplicationOptions()
    /// Stores to open at start.
    var stores: [StoreEntry] = []

    /// The defaults of a system's or a user's daemon.
    init(_ paths: ConfigurationPaths) {
        socket = paths.socket
        socketMode = paths.isSystem ? 0o660 : 0o600
        stateDirectory = paths.stateDirectory
    }
}

/// Something wrong in the configuration: where, and what. The daemon ends with status 78.
struct ConfigurationFault: Error, Equatable, CustomStringConvertible {
    /// The file, flag or variable.
    let place: String
    /// The line, counted from 1, where there is one.
    let line: Int?
    /// What is wrong, and what would be right.
    let reason: String

    init(_ place: String, line: Int? = nil, _ reason: String) {
        self.place = place
        self.line = line
        self.reason = reason
    }

    var description: String { place + (line.map { ":\($0)" } ?? "") + ": " + reason }
}
