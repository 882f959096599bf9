import SyncCore

/// Consumers as lines for a person.
enum ConsumerText {
    static func lines(_ consumers: [Consumer], indent: String = "") -> [String] {
        var table = TextTable(styles: [.strong])
        let now = Timestamp.now()
        for consumer in consumers {
            table.add(
                consumer.name, consumer.kind.rawValue,
                consumer.acknowledged == 0
                    ? "nothing acknowledged" : "has read up to #\(consumer.acknowledged)",
                lease(consumer, now), "seen " + LocalTime.ago(consumer.lastSeen, now: now))
        }
        return table.lines(on: .output, indent: indent)
    }

    private static func lease(_ consumer: Consumer, _ now: Timestamp) -> String {
        guard consumer.kind != .writer else { return "holds nothing back" }
        guard let lease = consumer.lease else { return "no lease" }
        return consumer.isLapsed(at: now)
            ? "lease has lapsed" : "lease of \(LocalTime.length(lease))"
    }
}
