import Foundation
import SyncClient
import SyncReplica
import SyncStorage

extension StatusReport {
    /// Adds what the file itself says. What of it cannot be read is named (``unread``): an empty
    /// list would say that there is nothing.
    mutating func readFile(_ path: String) {
        links = HardLinks.problem(with: path)
        guard access(path, R_OK) == 0 else {
            unread = ["replicas, conflicts and last exchanges: you may not read the file"]
            return
        }
        names = read("the names of replicas", KnownNames()) { try Store.replicaNames(path) }
        comparisons = read("the last comparisons", []) { try Store.comparisons(path) }
        exchanges = read("the last exchanges", [:]) { try Store.lastExchanges(path) }
        hiddenRows = read("rows that are kept out", 0) { try Store.hiddenRowCount(path) }
        defaults = read("different defaults", []) { try StoreReplica.differentDefaults(path) }
        waiting = read("changes that wait", []) { try StoreReplica.waiting(path) }
        unrecorded = read("tables that are not recorded", []) { try Store.unrecordedTables(path) }
        conflicts = read("open conflicts", 0) { try Store.openConflictCount(path) }
        obstacle = read("the keys of the tables", nil) { try Store.obstacle(inTablesOf: path) }
        replicas = read("what other replicas lack", []) { try Store.peerLags(path) }.map { lag in
            ReplicaLag(
                replica: lag.replica, name: names[lag.replica], behind: lag.behind,
                behindSince: lag.behindSince, isAbsent: lag.isAbsent)
        }
    }

    private mutating func read<Content>(
        _ subject: String, _ missing: Content, _ body: () throws -> Content
    ) -> Content {
        do {
            return try body()
        } catch {
            let reason = (error as? SyncError)?.reason ?? "\(error)"
            unread.append("\(subject): \(reason)")
            return missing
        }
    }
}
