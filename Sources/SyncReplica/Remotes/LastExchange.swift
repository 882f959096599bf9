import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// What a file remembers of the exchanges with a remote, those of a daemon and those of commands
/// that nobody watched. Kept in the setting `exchanges`, by the remote's address.
package struct LastExchange: Codable, Sendable, Hashable {
    /// How exact ``succeeded`` is, ms: it is written no more often.
    private static let grain: UInt64 = 60_000
    /// A remote may say more than a person reads.
    private static let reasonMax = 2_000

    /// When one last succeeded, ms since 1970.
    private var succeeded: Int64?
    /// Since when they have failed for the same reason, ms since 1970; nil: the last one did not.
    private var failing: Int64?
    /// Why the last one failed, and what to do.
    package private(set) var reason, hint: String?

    /// What has not succeeded since it failed; nil: it is not known.
    private var due: Set<Direction>?

    /// What an exchange does. A pull that succeeds says nothing of the push that failed before it.
    package enum Direction: String, Codable, Sendable { case pull, push }

    /// When one last succeeded, at most a minute too early; nil: none has, since this is
    /// remembered.
    package var lastSync: Timestamp? { succeeded.map { Timestamp(milliseconds: $0) } }

    /// Since when exchanges have failed for the same reason; nil: the last one did not.
    package var failingSince: Timestamp? { failing.map { Timestamp(milliseconds: $0) } }

    /// - Parameters:
    ///   - error: why it failed; nil: it did not.
    ///   - directions: what it did.
    /// - Returns: whether that is news.
    mutating func note(
        _ error: SyncError?, of directions: Set<Direction>, at now: Int64
    ) -> Bool {
        guard let error else {
            if failing != nil, let due, !due.isSubset(of: directions) {
                self.due = due.subtracting(directions)
                return self.due != due
            }
            // The number comes from the file: it may be any.
            let (age, isBeyond) = now.subtractingReportingOverflow(succeeded ?? .min)
            if failing == nil, !isBeyond, age.magnitude < Self.grain { return false }
            self = LastExchange(succeeded: now)
            return true
        }
        let text = String(error.reason.prefix(Self.reasonMax))
        let due = directions.union(failing == nil ? [] : self.due ?? [])
        if failing != nil, reason == text, due == self.due { return false }
        if failing == nil || reason != text { failing = now }
        (reason, self.due) = (text, due)
        hint = error.hint.map { String($0.prefix(Self.reasonMax)) }
        return true
    }
}

extension LastExchange {
    /// All of a store, by the addresses of the remotes.
    /// - Throws: SQLite errors.
    static func all(_ connection: OpaquePointer) throws -> [String: LastExchange] {
        guard case .text(let json) = try Metadata(connection).value(.exchanges) else { return [:] }
        return (try? JSONDecoder().decode([String: LastExchange].self, from: Data(json.utf8)))
            ?? [:]
    }

    /// Writes the outcome of an exchange, where it is news.
    /// - Throws: SQLite errors.
    static func note(
        _ error: SyncError?, of directions: Set<Direction>, at url: String,
        on connection: OpaquePointer
    ) throws {
        var all = try all(connection)
        let now = Timestamp.now().milliseconds
        guard all[url, default: LastExchange()].note(error, of: directions, at: now) else { return }
        try set(all, on: connection)
    }

    /// Forgets a remote.
    /// - Throws: SQLite errors.
    static func forget(_ url: String, on connection: OpaquePointer) throws {
        var all = try all(connection)
        if all.removeValue(forKey: url) != nil { try set(all, on: connection) }
    }

    private static func set(
        _ all: [String: LastExchange], on connection: OpaquePointer
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(all), as: UTF8.self)
        try Metadata(connection).set(.exchanges, to: all.isEmpty ? .null : .text(json))
    }
}

extension Store {
    /// What the file remembers of the exchanges with each of its remotes, by their names.
    /// - Throws: as ``remotes()``.
    package func lastExchanges() throws -> [String: LastExchange] {
        let entries = try remotes()
        let all = try explaining("status") {
            try reading.read { try LastExchange.all($0.connection) }
        }
        return entries.reduce(into: [:]) { $0[$1.name] = all[$1.url] }
    }

    /// The same of a file.
    /// - Throws: as ``Store/open(_:)`` and ``lastExchanges()``.
    package static func lastExchanges(_ path: String) throws -> [String: LastExchange] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.lastExchanges()
    }
}

extension StoreReplica {
    /// Remembers that an exchange failed, where the file can be written. That another process holds
    /// it is over in a moment, and not remembered; a full disk may be that of the remote.
    package func note(
        failure error: SyncError, of directions: Set<LastExchange.Direction>, at url: String
    ) {
        guard error.code != .busy else { return }
        // The failure itself is thrown, whether this can be written or not.
        try? run("sync") { session in
            try RawTransaction.write(on: session.connection) {
                try LastExchange.note(error, of: directions, at: url, on: session.connection)
            }
        }
    }

    /// Remembers that an exchange succeeded, where that is news.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package func noteSuccess(
        of directions: Set<LastExchange.Direction>, at url: String
    ) throws {
        try run("sync") { session in
            var known = try LastExchange.all(session.connection)[url] ?? LastExchange()
            let now = Timestamp.now().milliseconds
            guard known.note(nil, of: directions, at: now) else { return }
            try RawTransaction.write(on: session.connection) {
                try LastExchange.note(nil, of: directions, at: url, on: session.connection)
            }
        }
    }
}
