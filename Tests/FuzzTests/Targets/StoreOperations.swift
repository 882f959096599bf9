import SyncTesting

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// Everything that commands and the daemon do with a store, each as a call that may refuse.
///
/// An input chooses a few of them, or all: a whole session takes as long as ten short ones.
struct StoreOperations {
    private typealias Call = (name: String, run: () throws -> Void)

    private let path: String
    private let batches: [[UInt8]]
    private var isWhole = true
    /// Where the calls of a part begin that is not run as a whole.
    private var first = 0
    private static let callsMax = 3

    init(_ path: String, batches: [[UInt8]]) {
        self.path = path
        self.batches = batches
    }

    mutating func run(_ choices: inout FuzzChoices) throws {
        let order = choices.byte()
        let part = order >> 3 & 3
        isWhole = part == 0
        first = isWhole ? 0 : choices.below(256)
        if isWhole, order & 1 == 1 { try merge() }
        if isWhole || part == 1 { try read() }
        if isWhole || part == 2 { try write() }
        if part == 3 || isWhole && order & 1 == 0 { try merge() }
        if order & 2 == 2 { try mend() }
        if isWhole { try run(paths) }
        if order & 4 == 4 { try refusing("untrack") { try Store.untrack(path) } }
    }

    private func run(_ calls: [Call]) throws {
        let places = isWhole ? 0..<calls.count : first..<first + Self.callsMax
        for place in places {
            let call = calls[place % calls.count]
            try refusing(call.name, call.run)
        }
    }

    private var paths: [Call] {
        [
            ("status", { _ = try Store.lastComparison(path) }),
            ("compare", { _ = try Store.missedChanges(path) }),
            ("tables", { _ = try Store.tablesWithoutFingerprints(path) }),
            ("comparisons", { _ = try Store.comparisons(path) }),
            ("waiting", { _ = try StoreReplica.showWaiting(at: path) }),
        ]
    }

    // MARK: Reading

    private func read() throws {
        try refusing("open") {
            let store = try Store.open(path)
            defer { try? store.close() }
            try run(reading(store))
        }
    }

    private func reading(_ store: Store) -> [Call] {
        var query = HistoryQuery()
        query.entities = ["note"]
        query.properties = ["text"]
        query.since = Timestamp(milliseconds: 0)
        var reversed = HistoryQuery()
        reversed.reverse = true
        return [
            ("status", { _ = try store.status() }),
            ("poll", { _ = try store.poll() }),
            ("consumers", { for each in try store.consumers() { _ = each.isLapsed(at: .now()) } }),
            ("verify", { _ = try store.verifyCapture() }),
            ("count", { _ = try store.count() }),
            ("beginning", { _ = try store.beginning() }),
            ("keys", { _ = try store.keyRing() }),
            ("remotes", { _ = try store.remotes() }),
            ("due", { _ = try store.timeSinceComparison() }),
            ("history", { _ = try store.history() }),
            ("history", { _ = try store.history(reversed) }),
            ("history", { _ = try store.history(query) }),
            ("as of", { try readPast(of: store) }),
        ]
    }

    private func readPast(of store: Store) throws {
        let name = try ObjectName(path: "note/1")
        _ = try store.object(named: name)
        let tokens = try store.history().map(\.token)
        guard let first = tokens.first, let last = tokens.last else { return }
        try refusing("object") { try store.object(name, asOf: first) }
        try refusing("difference") { try store.difference(from: first, to: last) }
        try refusing("continues") { try store.continues(last) }
    }

    // MARK: Writing

    private func write() throws {
        // What the user's programs do goes on, or fails in their hands; it ends nothing here.
        if let connection = try? PlainConnection(path) {
            try? connection.run("UPDATE note SET text = 'k'")
            try? connection.run("DELETE FROM item WHERE id = 1")
            connection.close()
        }
        try refusing("open") {
            let store = try Store.open(path)
            defer { try? store.close() }
            try run(writing(store))
        }
    }

    private func writing(_ store: Store) -> [Call] {
        let limits = HistoryLimits(age: .seconds(1), bytes: 10)
        return [
            ("digest", { while try store.digest() {} }),
            ("purge", { _ = try store.purge(beyond: limits) }),
            ("revert", { try store.history().last.map { _ = try store.revert($0.number) } }),
            ("restore", { _ = try store.restore(ObjectName(path: "note/2")) }),
            ("purge", { _ = try store.purge(force: true) }),
            ("history", { _ = try store.history() }),
            ("register", { _ = try store.register(consumer: "reader") }),
            ("erase", { _ = try store.erase(ObjectName(path: "note/1")) }),
        ]
    }

    // MARK: Merging

    private func merge() throws {
        try refusing("open replica") {
            let replica = try StoreReplica(path)
            defer { try? replica.close() }
            try run(merging(replica))
        }
    }

    private func merging(_ replica: StoreReplica) -> [Call] {
        [
            ("vector", { _ = try replica.vector }),
            ("policies", { _ = try replica.policies() }),
            ("conflicts", { _ = try replica.conflicts(open: nil) }),
            ("members", { _ = try replica.members() }),
            ("merge", { try merge(into: replica) }),
            ("push", { _ = try replica.batches(since: VersionVector()) }),
            ("push", { _ = try replica.batches(since: (try? replica.vector) ?? VersionVector()) }),
            ("sums", { _ = try replica.sums }),
            ("collect", { _ = try replica.collect(lease: .zero) }),
            ("collect", { _ = try replica.collect(every: .seconds(1)) }),
            ("peers", { _ = try replica.peers }),
            ("behind", { _ = try replica.behind }),
            ("waiting", { _ = try replica.waiting }),
            ("unsynced", { _ = try replica.unsyncedRows() }),
            ("names", { _ = try replica.names() }),
            ("policy", { try replica.setPolicies(MergePolicies()) }),
            ("close conflicts", { try replica.closeConflicts() }),
            ("mend sums", { _ = try replica.mendSums() }),
            ("missed", { _ = try replica.recordMissed() }),
            ("renew", { _ = try replica.renewIdentity() }),
        ]
    }

    private func merge(into replica: StoreReplica) throws {
        for batch in batches { try refusing("merge") { try replica.merge(batch) } }
    }

    private func mend() throws {
        try refusing("mend") { try Store.mend(path, comparing: true) }
        try refusing("track") { try Store.track(path) }
    }
}
