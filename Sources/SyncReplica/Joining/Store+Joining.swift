import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// What joining another store did.
package struct JoinReport: Sendable, Hashable {
    /// Transactions of the history that was dropped.
    package let dropped: Int
    /// Rows with private numbers that are the same objects as rows of the store.
    package let same: Int
    /// Whether policies had been chosen here that are not those of the store, which hold.
    package var hasDroppedPolicies = false
}

extension Store {
    /// Makes a database that was tracked separately a replica of another store.
    ///
    /// Its own history is dropped, and with it the consumers: their transactions are not in the
    /// history of the other store. The tables do not change. Where rows that are the same object
    /// differ, or other rows clash, the first merge treats them as concurrent edits that are older
    /// than everything in the store, with the overridden values in the conflict log.
    /// - Parameters:
    ///   - copy: a replica of the store that no other connection has open.
    ///   - method: which rows are the same objects.
    ///   - keys: what it has to open and seal batches with afterwards; the transaction that joins
    ///     removes those of the database.
    /// - Throws: ``SyncError``: `refused` when it has exchanged batches already, when tables or
    ///   columns of the store were renamed, or when a table of the store has a key of another kind;
    ///   as ``track``. Nothing has changed then: the history is deleted in the transaction that
    ///   joins.
    /// - Complexity: O(n log n) in the rows
    package static func join(
        _ path: String, to copy: String, by method: JoinMethod, keys: KeyRing = KeyRing()
    ) throws -> JoinReport {
        let (store, policies, signing, names, kinds) = try Self.identity(of: copy)
        guard names.isEmpty else {
            throw SyncError(
                .refused,
                "tables or columns of the store were renamed or dropped, so that the rows of this "
                    + "database cannot be matched",
                operation: "join", path: path,
                hint: "Clone the store and insert the rows there: synctool clone URL NEWFILE")
        }
        let dropped: Int
        let chosen: Value
        let layouts: [String: CaptureOptions]
        do {
            let opened = try Store.open(path)
            defer { try? opened.close() }
            guard opened.id != store else { return JoinReport(dropped: 0, same: 0) }
            dropped = try opened.count(HistoryQuery()).transactions
            (chosen, layouts) = try opened.live.withState { connection, live in
                // Chosen policies make the tables of merging, and state nothing.
                guard try Metadata(connection).value(.stated) == .null else {
                    throw SyncError(
                        .refused, "the database already has other replicas",
                        operation: "join", path: path,
                        hint: "Join one that was never pushed or pulled, or clone: "
                            + "synctool clone URL NEWFILE")
                }
                let layouts = Dictionary(
                    live.catalog.present.map { ($0.name, $0.layout.options()) },
                    uniquingKeysWith: { first, _ in first })
                return (try Metadata(connection).value(.policies), layouts)
            }
        }
        return try explaining("join", at: path) {
            let same = try restart(
                path, entities: layouts.keys.sorted(), options: layouts, attaching: copy
            ) { database in
                try adoptIdentity(
                    of: store, policies: policies, signing: signing, names: names, kinds: kinds,
                    in: database, matching: method, keys: keys)
            }
            return JoinReport(
                dropped: dropped, same: same,
                hasDroppedPolicies: chosen != .null && chosen != policies)
        }
    }

    private static func identity(
        of copy: String
    ) throws -> (StoreID, Value, Value, names: [EntityNames], kinds: KeyKinds) {
        let opened = try Store.open(copy)
        defer { try? opened.close() }
        let kinds = try KeyKinds(of: copy)
        let (policies, signing, names) = try opened.live.withState { connection, _ in
            let settings = Metadata(connection)
            return (
                try settings.value(.policies), try settings.value(.signing),
                try NameStorage(connection).read()
            )
        }
        return (opened.id, policies, signing, names.foreign.sent(with: names.own), kinds)
    }

    /// Adopts the store's identifier and policies, and its identities of the rows, in the
    /// transaction that the connection is in.
    private static func adoptIdentity(
        of store: StoreID, policies: Value, signing: Value, names: [EntityNames],
        kinds: KeyKinds, in database: Database, matching method: JoinMethod, keys: KeyRing
    ) throws -> Int {
        guard let connection = database.sqliteConnection else { return 0 }
        var chosen = MergePolicies()
        if case .text(let json) = policies { chosen = try MergePolicies(json: json) }
        let tables = try EntityTable.liveTables(of: database)
        let bound = SchemaNames(names, tables: tables)
        try CollationCheck(connection).require(tables)
        try kinds.require(KeyKinds(tables))
        let match = try JoinMatch(
            connection, tables: tables,
            schema: try ReplicaSchema(tables, names: bound, policies: chosen))
        try JoinedNames.drop(connection)
        try RawTransaction.execute(JoinedNames.createSQL, on: connection)
        let same = try match.write(method)
        let settings = Metadata(connection)
        if !names.isEmpty {
            for sql in StoreBlueprint.names { try RawTransaction.execute(sql, on: connection) }
            try NameStorage(connection).write(bound, foreign: ForeignNames())
        }
        try settings.set(.joined, to: .integer(try match.beginning() - 1))
        try settings.set(.store, to: .blob(store.bytes))
        if policies != .null { try settings.set(.policies, to: policies) }
        if signing != .null { try settings.set(.signing, to: signing) }
        if !keys.keys.isEmpty { try KeyTable.write(keys, on: connection) }
        return same
    }
}
