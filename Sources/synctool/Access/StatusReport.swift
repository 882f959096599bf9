import SyncClient
import SyncCore
import SyncReplica
import Varlink

/// The status of a store, and where it comes from.
struct StatusReport: Sendable {
    /// Why the file itself was read; nil: the daemon answered.
    let directReason: FileAccess.Reason?
    let report: StoreReport
    /// The last comparison with each other replica, read from the file; empty too when this user
    /// may not read it.
    var comparisons: [ReplicaComparison] = []

    /// The names of replicas, read from the file like ``comparisons``.
    var names = KnownNames()
    /// How exchanges ended, by the name of the remote, read from the file.
    var exchanges: [String: LastExchange] = [:]
    /// What other replicas lack, read from the file.
    var replicas: [ReplicaLag] = []
    /// How many conflicts are open, read from the file.
    var conflicts: Int64 = 0
    /// Rows that a constraint keeps out of the tables, read from the file.
    var hiddenRows = 0
    /// Columns whose default differs from that of another replica, read from the file.
    var defaults: [DifferentDefault] = []
    /// Tables with rows that cannot be recorded, read from the file.
    var unrecorded: [UnrecordedTable] = []
    /// Changes that the tables have no place for, read from the file.
    var waiting: [WaitingChanges] = []
    /// Why the tables stop each exchange, read from the file.
    var obstacle: SyncError?
    /// What is wrong with the file itself.
    var links: SyncError?
    /// What could not be read from the file, and is not among the above: as sentences.
    var unread: [String] = []

    var store: StoreSummary { report.store }

    /// What is wrong.
    var findings: [String] {
        var findings = report.findings
        if let links { findings.append("\(links.reason). \(links.hint ?? "")") }
        if let obstacle {
            findings.append(
                "nothing is synchronised: \(obstacle.reason). \(obstacle.hint ?? "")")
        }
        return findings
    }

    /// The reply of the method `Status`, and `daemon`: whether the daemon sent it.
    var json: JSONObject {
        var object = report.jsonObject
        object["daemon"] = .bool(directReason == nil)
        object["replicaName"] = .text(store.replica.flatMap { names[$0] })
        object["conflicts"] = .integer(conflicts)
        object["replicas"] = .array(replicas.map { .object($0.jsonObject) })
        object["hiddenRows"] = .integer(Int64(hiddenRows))
        object["findings"] = .array(findings.map { .string($0) })
        if !unread.isEmpty { object["unread"] = .array(unread.map { .string($0) }) }
        let failed = exchanges.filter { $0.value.failingSince != nil }
        if !failed.isEmpty {
            object["failedExchanges"] = .array(
                failed.sorted { $0.key < $1.key }.map { name, exchange in
                    .object([
                        "remote": .string(name),
                        "since": .text(exchange.failingSince?.description),
                        "error": .text(exchange.reason), "hint": .text(exchange.hint),
                    ])
                })
        }
        if !unrecorded.isEmpty {
            object["unrecorded"] = .array(
                unrecorded.map { table in
                    .object([
                        "table": .string(table.name), "reason": .string(table.reason.rawValue),
                    ])
                })
        }
        if !waiting.isEmpty {
            object["waiting"] = WaitingText(waiting: waiting, path: store.path).json
        }
        if !defaults.isEmpty {
            object["differentDefaults"] =
                DefaultsText(differences: defaults, path: store.path).json
        }
        object["comparisons"] = .array(
            comparisons.map { comparison in
                .object([
                    "replica": .string(comparison.replica.description),
                    "replicaName": .text(names[comparison.replica]),
                    "time": .string(comparison.time.description),
                    "count": .integer(comparison.count),
                    "different": .array(comparison.entities.map { .string($0) }),
                    "equal": .bool(comparison.isEqual),
                    "uncompared": .array(comparison.uncompared.map { .string($0) }),
                ])
            })
        return object
    }
}
