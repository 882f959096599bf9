import SyncClient
import SyncReplica

/// What other replicas of a store lack, as lines of text.
enum LagText {
    static func lines(_ replicas: [ReplicaLag], indent: String) -> [String] {
        var table = TextTable(styles: [.strong])
        for replica in replicas { table.add(title(of: replica), state(of: replica)) }
        return table.lines(on: .output, indent: indent)
    }

    /// Its name, or the first digits of its identifier.
    static func title(of replica: ReplicaLag) -> String {
        replica.name ?? String(replica.replica.description.prefix(8))
    }

    static func state(of replica: ReplicaLag, now: Timestamp = .now()) -> String {
        guard replica.behind > 0 else { return "has everything that was exchanged" }
        let since = replica.behindSince.map { ", heard last \(LocalTime.ago($0, now: now))" } ?? ""
        return Plural.text(Int(replica.behind), of: "transaction") + " behind" + since
            + (replica.isAbsent ? "; away for so long that nothing waits for it" : "")
    }
}
