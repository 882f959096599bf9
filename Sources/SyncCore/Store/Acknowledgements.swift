import SyncStorage
import SyncValues
import Synchronization

/// Positions that consumers acknowledged and the store does not have yet.
///
/// A client may acknowledge each transaction; writing each of them would wake every watcher of the
/// store again and make writers wait. They are written with the next digest. A crash in between
/// loses the newest ones, which is safe: history is kept longer, and the client acknowledges again.
final class Acknowledgements: Sendable {
    private struct Pending {
        var number: Int64
        var time: Timestamp
    }

    private let pending = Mutex<ExactMap<Pending>>([:])

    /// Takes a position; an older one than it has already is only a sign of life.
    func take(_ consumer: String, upTo number: Int64, at time: Timestamp) {
        pending.withLock {
            let number = max($0[consumer]?.number ?? 0, number)
            $0[consumer] = Pending(number: number, time: time)
        }
    }

    /// Whether the store has all of them.
    var isEmpty: Bool { pending.withLock(\.isEmpty) }

    /// Forgets a consumer that was removed.
    func drop(_ consumer: String) { _ = pending.withLock { $0.removeValue(forKey: consumer) } }

    /// A consumer as it will be once everything is written.
    func applied(to consumer: Consumer) -> Consumer {
        guard let pending = pending.withLock({ $0[consumer.name] }) else { return consumer }
        return Consumer(
            name: consumer.name, kind: consumer.kind,
            acknowledged: max(consumer.acknowledged, pending.number), lease: consumer.lease,
            lastSeen: max(consumer.lastSeen, pending.time), created: consumer.created)
    }

    /// Writes everything, in one transaction; nothing is lost when that fails.
    func write(to connection: OpaquePointer) throws {
        let written = pending.withLock { $0 }
        guard !written.isEmpty else { return }
        let update = try Statement(ConsumerTable.acknowledgeSQL, on: connection)
        try RawTransaction.write(on: connection) {
            for (name, position) in written {
                try update.run(
                    .text(name), .integer(position.number), .integer(position.time.milliseconds))
            }
        }
        pending.withLock { pending in
            for (name, position) in written where pending[name]?.number == position.number {
                pending[name] = nil
            }
        }
    }
}
