import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension Store {
    /// What the last exchanges found, for `status`: replicas that differ, remotes that lack what
    /// they had or could not be read, rows that the snapshot of one member alone leaves out.
    /// - Throws: ``SyncError``: SQLite errors; `badData` for vectors that cannot be read.
    package func exchangeFindings() throws -> [String] {
        let excluded = try explaining("status") { try exclusion }
        return try [remade().map { "\($0.reason). \(RemadeStore.hint)" }].compactMap(\.self)
            + [excluded].compactMap { $0.map { "\($0.reason). \($0.hint ?? "")" } }
            + comparisons().compactMap(\.problem)
            + explaining("status") {
                try reading.read {
                    try RemoteReach.findings($0.connection)
                        + UnreadRemotes.findings($0.connection) + Self.doubts($0.connection)
                }
            }
    }

    /// Why others do not merge what this replica sends (``StoreReplica/exclusion``).
    package var exclusion: SyncError? {
        get throws {
            try reading.read { database in
                let connection = database.connection
                guard try SchemaReader.hasTable("syncd_member", on: connection) else { return nil }
                return try MemberStorage(connection, store: id).all().exclusion(of: replica)
            }
        }
    }

    /// What was wrong with the remotes of a file at the last exchange, for `doctor`.
    /// - Throws: as ``Store/open(_:)`` and ``exchangeFindings()``.
    package static func remoteFindings(_ path: String) throws -> [String] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.explaining("doctor") {
            try store.reading.read {
                try RemoteReach.findings($0.connection) + UnreadRemotes.findings($0.connection)
            }
        }
    }

    /// The remotes that get everything in the clear, in a store that encrypts elsewhere, though
    /// nobody has asked for that: those of a version that did not ask, and those from before the
    /// store encrypted anything.
    /// - Throws: ``SyncError``: what opening throws; SQLite errors.
    package static func remotesInTheClear(_ path: String) throws -> [RemoteEntry] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        guard try store.isConfidential() else { return [] }
        return try store.remotes().filter { $0.options.encrypted == nil }
    }

    private static func doubts(_ connection: OpaquePointer) throws -> [String] {
        guard try SchemaReader.hasTable("syncd_doubt", on: connection) else { return [] }
        let select = try Statement(
            "SELECT count(DISTINCT uid), max(confirmed) FROM syncd_doubt", on: connection)
        guard try select.step(), select.integer(0) > 0 else { return [] }
        var confirmed: [String] = []
        var reader = ByteReader(select.blob(1) ?? [])
        while !reader.isAtEnd {
            confirmed.append(try reader.identifier(ReplicaID.self).description)
        }
        return [
            "\(select.integer(0)) rows are kept that the snapshot of replica "
                + "\(confirmed.joined(separator: ", ")) leaves out, until the other members have "
                + "sent theirs; one that is gone for good is removed here by: synctool remote "
                + "members DB --remove REPLICA"
        ]
    }
}
