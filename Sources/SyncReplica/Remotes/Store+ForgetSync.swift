import GRDB
import SyncCore
import SyncStorage
import SyncValues

/// What is nowhere else, or in other replicas alone, once a store forgets merging.
public struct SyncLosses: Sendable, Hashable {
    /// Transactions that were written here and sent to no remote: the rows stay, other replicas do
    /// not get them. At least this number.
    public var unsent = 0
    /// Objects that are alive and kept out of the tables: their values are in the records alone.
    public var hiddenRows = 0
    /// Open conflicts: the values that were overruled are in their log alone.
    public var openConflicts = 0
    /// Changes of other replicas that wait for a table or column that this database lacks.
    public var waiting = 0
    /// Remotes of which it is not known whether they have everything: they lack something that they
    /// had, or the last exchange with them failed.
    public var uncertain: [String] = []

    /// Whether nothing is lost.
    public var isEmpty: Bool { self == SyncLosses() }
}

/// What forgetting merging did.
public struct ForgottenSync: Sendable {
    /// The store that the file was a replica of.
    public let store: StoreID
    /// The replica that it was.
    public let replica: ReplicaID
    /// The names of the remotes that were removed.
    public let remotes: [String]
    /// What was lost, on request.
    public let losses: SyncLosses
    /// Why what was written past the triggers could not be recorded before; nil: it was.
    public let unrecorded: SyncError?
    /// The tables of which not all rows have a fingerprint: what is written there while triggers
    /// are missing is not found before `doctor --mend` has compared them.
    public let uncompared: [String]
}

extension Store {
    /// Makes a replica a store of its own: what merging keeps is dropped, and the list of remotes.
    /// Rows, history, consumers, policies and keys stay. The file gets the identity of a new store,
    /// in the next epoch: tokens from before are `foreignHistory`.
    ///
    /// Other objects that have the file open cannot be used afterwards.
    /// - Parameter discarding: also where something is lost (``SyncLosses``), or what was written
    ///   past the triggers cannot be recorded. Otherwise both are refused.
    /// - Throws: ``SyncError``: `refused` for a store that was never synchronised, and for losses;
    ///   `storeDamaged`, `busy`, and what opening throws. Nothing is changed then.
    /// - Complexity: O(what was written since the last exchange), and O(pages of the tables of
    ///   merging), while writers wait.
    public static func forgetSync(
        _ path: String, discarding: Bool = false
    ) throws -> ForgottenSync {
        let (former, remotes, isMerging) = try beforeForgetting(path)
        var waiting = 0
        var policies: MergePolicies?
        var unrecorded: SyncError?
        if isMerging {
            do {
                (waiting, policies) = try recordBeforeForgetting(path)
            } catch let error as SyncError where discarding && error.needsDecision {
                unrecorded = error
            }
        }
        return try explaining("forget-sync", at: path) {
            let tracker = try Tracker(path: path)
            var losses = SyncLosses()
            try tracker.forgetSync { database in
                let settings = try Metadata(database)
                guard try StoreIdentity(settings) == former,
                    try unrecorded != nil || settings.integer(.unseen) == 0
                else {
                    throw SyncError(
                        .busy, "another program changed the store meanwhile", hint: "Try again")
                }
                let connection = try database.openConnection
                losses = try SyncLosses(connection, remotes: remotes, waiting: waiting)
                if !discarding { try losses.requireNone(hasRemotes: !remotes.isEmpty) }
                // The identities of tables and columns go with the names that they had.
                if let policies { try settings.set(.policies, to: .text(try policies.json())) }
            }
            return ForgottenSync(
                store: former.store, replica: former.replica, remotes: remotes.map(\.name),
                losses: losses, unrecorded: unrecorded,
                uncompared: try tablesWithoutFingerprints(path))
        }
    }

    /// - Returns: the identity, the remotes, and whether anything is recorded.
    private static func beforeForgetting(
        _ path: String
    ) throws -> (StoreIdentity, remotes: [RemoteEntry], isMerging: Bool) {
        let store = try open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        let remotes = try store.remotes()
        return try store.explaining("forget-sync") {
            try store.reading.read { reader in
                let settings = Metadata(reader.connection)
                let isMerging = try settings.value(.stated) != .null
                guard try isMerging || !remotes.isEmpty || settings.value(.joined) != .null else {
                    throw SyncError(
                        .refused, "the database is not synchronised: there is nothing to forget",
                        hint: "For its free pages: sqlite3 DB VACUUM; to remove the history, too: "
                            + "synctool untrack DB")
                }
                return (try StoreIdentity(settings), remotes, isMerging)
            }
        }
    }

    /// Brings everything into history that the records alone would have found.
    /// - Returns: how many changes wait, and the policies by the present names; nil: none are
    ///   chosen.
    private static func recordBeforeForgetting(
        _ path: String
    ) throws -> (waiting: Int, MergePolicies?) {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        _ = try replica.recordMissed()
        let policies = try replica.policies()
        return (
            try replica.waiting.map(\.count).reduce(0, +),
            policies == MergePolicies() ? nil : policies
        )
    }
}

extension SyncError {
    /// Whether trying again does not help: the schema, or a file that is not in order.
    fileprivate var needsDecision: Bool { code == .refused || code == .cannotTrack }
}

extension SyncLosses {
    /// Counts them, in the transaction that the connection is in.
    fileprivate init(
        _ connection: OpaquePointer, remotes: [RemoteEntry], waiting: Int
    ) throws {
        self.waiting = waiting
        let lacking = try RemoteReach.lacking(connection)
        let exchanges = try LastExchange.all(connection)
        uncertain = remotes.filter {
            lacking.contains($0.url) || exchanges[$0.url]?.failingSince != nil
        }.map(\.name)
        unsent = try UnsentTransactions(connection).count
        hiddenRows = try HiddenRows.count(connection)
        guard try ReplicationTables.exist(connection) else { return }
        let select = try Statement(
            "SELECT count(*) FROM syncd_conflict WHERE closed IS NULL", on: connection)
        openConflicts = try select.step() ? Int(select.integer(0)) : 0
    }

    fileprivate func requireNone(hasRemotes: Bool) throws {
        if isEmpty { return }
        var steps: [String] = []
        if unsent > 0 {
            steps.append(
                hasRemotes
                    ? "send first: synctool sync DB"
                    : "add a remote and send first: synctool help remote add")
        }
        if hiddenRows + openConflicts > 0 {
            steps.append("see and settle conflicts: synctool conflicts DB")
        }
        if waiting > 0 { steps.append("show what waits: synctool schema DB --apply") }
        if !uncertain.isEmpty {
            steps.append("see what is the matter: synctool status DB; then: synctool sync DB")
        }
        steps.append("or lose it: synctool forget-sync DB --discard")
        let hint = steps.joined(separator: "; ")
        throw SyncError(
            .refused, "it would lose " + text, hint: hint.prefix(1).uppercased() + hint.dropFirst())
    }

    /// `2 transactions that no remote has, and an open conflict with what it overruled`
    package var text: String {
        func count(_ count: Int, _ one: String, _ many: String) -> String? {
            count == 0 ? nil : count == 1 ? one : "\(count) \(many)"
        }
        return [
            count(
                unsent, "for the other replicas a transaction that no remote has",
                "transactions, for the other replicas: no remote has them"),
            count(
                hiddenRows, "a row that a constraint keeps out of its table",
                "rows that a constraint keeps out of their tables"),
            count(
                openConflicts, "the overruled values of an open conflict",
                "open conflicts with the values that were overruled"),
            count(
                waiting, "a change that waits for a table or column",
                "changes that wait for a table or column"),
            uncertain.isEmpty
                ? nil
                : "what \(uncertain.map { $0.printable(countMax: 200) }.joined(separator: ", ")) "
                    + "may lack: the last exchange failed, or found less than before",
        ].compactMap { $0 }.joined(separator: "; ")
    }
}
