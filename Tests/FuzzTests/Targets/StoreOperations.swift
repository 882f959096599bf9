import SyncTesting

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// Everything that commands and the daemon do with a store, each as a call that may refuse.
struct StoreOperations {
    private let path: String
    private let batches: [[UInt8]]

    init(_ path: String, batches: [[UInt8]]) {
        self.path = path
        self.batches = batches
    }

    mutating func run(_ choices: inout FuzzChoices) throws {
        let order = choices.byte()
        if order & 1 == 1 { try merge() }
        try read()
        try write()
        if order & 1 == 0 { try merge() }
        if order & 2 == 2 { try mend() }
        try refusing("status") { try Store.lastComparison(path) }
        try refusing("compare") { try Store.missedChanges(path) }
        try refusing("tables") { try Store.tablesWithoutFingerprints(path) }
        try refusing("comparisons") { try Store.comparisons(path) }
        try refusing("waiting") { try StoreReplica.showWaiting(at: path) }
        if order & 4 == 4 { try refusing("untrack") { try Store.untrack(path) } }
    }

    private func read() throws {
        try refusing("open") {
            let store = try Store.open(path)
            defer { try? store.close() }
            try refusing("status") { try store.status() }
            try refusing("poll") { try store.poll() }
            try refusing("consumers") {
                for consumer in try store.consumers() { _ = consumer.isLapsed(at: .now()) }
            }
            try refusing("verify") { try store.verifyCapture() }
            try refusing("count") { try store.count() }
            try refusing("beginning") { try store.beginning() }
            try refusing("keys") { try store.keyRing() }
            try refusing("remotes") { try store.remotes() }
            try refusing("due") { try store.timeSinceComparison() }
            for isReversed in [false, true] {
                var query = HistoryQuery()
                query.reverse = isReversed
                try refusing("history") { try store.history(query) }
            }
            var query = HistoryQuery()
            query.entities = ["note"]
            query.properties = ["text"]
            query.since = Timestamp(milliseconds: 0)
            try refusing("history") { try store.history(query) }
            try refusing("as of") {
                let name = try ObjectName(path: "note/1")
                _ = try store.object(named: name)
                let tokens = try store.history().map(\.token)
                if let first = tokens.first, let last = tokens.last {
                    try refusing("object") { try store.object(name, asOf: first) }
                    try refusing("difference") { try store.difference(from: first, to: last) }
                    try refusing("continues") { try store.continues(last) }
                }
            }
        }
    }

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
            try refusing("digest") { while try store.digest() {} }
            try refusing("purge") {
                try store.purge(beyond: HistoryLimits(age: .seconds(1), bytes: 10))
            }
            try refusing("revert") {
                if let last = try store.history().last { _ = try store.revert(last.number) }
            }
            try refusing("restore") { _ = try store.restore(ObjectName(path: "note/2")) }
            try refusing("purge") { try store.purge(force: true) }
            try refusing("history") { try store.history() }
            try refusing("register") { try store.register(consumer: "reader") }
            try refusing("erase") { try store.erase(ObjectName(path: "note/1")) }
        }
    }

    private func merge() throws {
        try refusing("open replica") {
            let replica = try StoreReplica(path)
            defer { try? replica.close() }
            try refusing("vector") { try replica.vector }
            try refusing("policies") { try replica.policies() }
            try refusing("conflicts") { try replica.conflicts(open: nil) }
            try refusing("members") { try replica.members() }
            for batch in batches { try refusing("merge") { try replica.merge(batch) } }
            for since in [VersionVector(), (try? replica.vector) ?? VersionVector()] {
                try refusing("push") { try replica.batches(since: since) }
            }
            try refusing("sums") { try replica.sums }
            try refusing("collect") { try replica.collect(lease: .zero) }
            try refusing("collect") { try replica.collect(every: .seconds(1)) }
            try refusing("peers") { try replica.peers }
            try refusing("behind") { try replica.behind }
            try refusing("waiting") { try replica.waiting }
            try refusing("unsynced") { try replica.unsyncedRows() }
            try refusing("names") { try replica.names() }
            try refusing("policy") { try replica.setPolicies(MergePolicies()) }
            try refusing("close conflicts") { try replica.closeConflicts() }
            try refusing("mend sums") { try replica.mendSums() }
            try refusing("missed") { try replica.recordMissed() }
            try refusing("renew") { try replica.renewIdentity() }
        }
    }

    private func mend() throws {
        try refusing("mend") { try Store.mend(path, comparing: true) }
        try refusing("track") { try Store.track(path) }
    }
}
