import SyncClient
import SyncCore

/// Consumers as lines of text.
enum ConsumerText {
    static func lines(_ consumers: [Consumer], indent: String = "") -> [String] {
        var table = TextTable(styles: [.strong])
        let now = Timestamp.now()
        for consumer in consumers {
            table.add(
                consumer.name, consumer.kind.rawValue,
                consumer.acknowledged == 0
                    ? "nothing acknowledged" : "acknowledged #\(consumer.acknowledged)",
                lease(of: consumer, at: now), "seen " + LocalTime.ago(consumer.lastSeen, now: now))
        }
        return table.lines(on: .output, indent: indent)
    }

    /// How far behind a consumer is, and when it was last seen.
    static func lag(of consumer: Consumer, in store: StoreOverview, now: Timestamp) -> String {
        "\(Plural.text(Int(store.behind(consumer)), of: "transaction")) behind, seen "
            + LocalTime.ago(consumer.lastSeen, now: now)
            + (consumer.isLapsed(at: now) ? "; lease expired" : "")
    }

    private static func lease(of consumer: Consumer, at now: Timestamp) -> String {
        guard consumer.kind != .writer else { return "does not hold back purging" }
        guard let lease = consumer.lease else { return "no lease" }
        return consumer.isLapsed(at: now)
            ? "lease expired" : "lease of \(LocalTime.length(lease))"
    }
}
