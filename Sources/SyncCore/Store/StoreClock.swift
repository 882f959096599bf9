import SyncStorage
import SyncValues

/// The time of a store: wall time without the jumps of the clock. Whatever is thrown away because
/// of its age, or because somebody was silent for too long, is judged by it.
///
/// A wall clock may be wrong by years, in both directions, and be corrected later: a battery that
/// is empty, a machine that starts before its network. Monotonic clocks end with the machine. So a
/// store remembers when it was last looked at: from one observation to the next its time advances
/// by what the wall clock advanced, by ``gapMax`` at most, and never back. One jump of ten years
/// costs every lease a day; ten years that pass take as many observations as they have days.
///
/// `gapMax` too small: the leases of a machine that is used now and then last much longer than they
/// say, and history and deleted objects are kept for longer. Too large: one jump ends leases.
///
/// Stamps of consumers and of other replicas are in store time; before the first jump it is wall
/// time. Times of transactions are wall time, as their writers read it: see ``Jump``.
///
/// Stored in `syncd_meta.observed`: five numbers, as text. A row that cannot be read is none: a
/// process that can write the file can write the stamps, too.
package struct StoreClock: Sendable, Hashable {
    /// How far one observation advances the time of a store at most.
    package static let gapMax = Duration.seconds(86_400)
    /// A clock that is set back by more has jumped; less is a correction.
    private static let correctionMax = Duration.seconds(300)
    /// The row is written again after this long: each write wakes who follows the store.
    private static let writeInterval = Duration.seconds(3600)
    /// Wall times are between 1970 and the year 10889, as those of the hybrid clock.
    private static let wallMax: Int64 = (1 << 48) - 1

    /// A jump of the clock, as the first observation after it found it.
    package struct Jump: Sendable, Hashable {
        /// Wall time after it.
        package let wall: Int64
        /// The newest transaction before it.
        package let number: Int64
        /// By how much more than the store's time the wall time advanced; 0 for one back.
        package let skipped: Int64
    }

    /// Wall time at the last observation; nil: there was none.
    private(set) var wall: Int64?
    /// Wall time minus store time.
    private(set) var skipped: Int64 = 0
    /// The last jump.
    package private(set) var jump: Jump?

    /// A clock that was never observed.
    package init() {}

    /// The clock that a store has.
    /// - Throws: the error of SQLite.
    package init(_ metadata: Metadata) throws {
        guard let text = try metadata.text(.observed) else { return }
        let numbers = text.split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 5, 0...Self.wallMax ~= numbers[0],
            -Self.wallMax...Self.wallMax ~= numbers[1], 0...Self.wallMax ~= numbers[4]
        else { return }
        (wall, skipped) = (numbers[0], numbers[1])
        if 0...Self.wallMax ~= numbers[2] {
            jump = Jump(wall: numbers[2], number: numbers[3], skipped: numbers[4])
        }
    }

    /// The clock after an observation now; nothing is written.
    /// - Parameters:
    ///   - now: wall time, milliseconds since 1970.
    ///   - newest: the newest transaction.
    package func observed(at now: Int64, newest: Int64 = 0) -> StoreClock {
        var clock = self
        let now = min(max(now, 0), Self.wallMax)
        clock.wall = now
        guard let wall else { return clock }
        let gap = now - wall
        let gapMax = Self.gapMax.milliseconds
        if gap > gapMax {
            clock.skipped = min(skipped + gap - gapMax, Self.wallMax)
            clock.jump = Jump(wall: now, number: newest, skipped: gap - gapMax)
        } else if gap < 0 {
            clock.skipped = max(skipped + gap, -Self.wallMax)
            if gap < -Self.correctionMax.milliseconds {
                clock.jump = Jump(wall: now, number: newest, skipped: 0)
            }
        }
        return clock
    }

    /// Observes the clock of a store, within the transaction that the connection is in; writes now
    /// and then.
    /// - Throws: the error of SQLite.
    package static func observe(
        _ metadata: Metadata, at now: Int64, newest: Int64
    ) throws -> StoreClock {
        let before = try StoreClock(metadata)
        let clock = before.observed(at: now, newest: newest)
        if before.isDue(at: now) || clock.jump != before.jump {
            try metadata.set(.observed, to: .text(clock.stored))
        }
        return clock
    }

    /// Observes the clock of a store outside of a transaction; writes only what has to be written.
    /// - Throws: `busy`, `readOnly`, and the error of SQLite.
    package static func observe(on connection: OpaquePointer, at now: Int64) throws -> StoreClock {
        let metadata = Metadata(connection)
        let known = try StoreClock(metadata)
        let clock = known.observed(at: now)
        guard known.isDue(at: now) || clock.jump != known.jump else { return clock }
        return try RawTransaction.write(on: connection) {
            try observe(metadata, at: now, newest: try LogTable.newest(on: connection))
        }
    }

    /// Whether the row has to be written again.
    private func isDue(at now: Int64) -> Bool {
        guard let wall else { return true }
        return !(0..<Self.writeInterval.milliseconds ~= now.subtractingReportingOverflow(wall).0)
    }

    private var stored: String {
        let numbers: [Int64] = [
            wall ?? 0, skipped, jump?.wall ?? -1, jump?.number ?? 0, jump?.skipped ?? 0,
        ]
        return numbers.map { String($0) }.joined(separator: " ")
    }

    // MARK: Time

    /// Store time at the last observation, milliseconds.
    package var time: Int64 { (wall ?? 0) - skipped }

    /// A stamp in store time as the wall clock shows it now.
    func shown(_ stamp: Timestamp) -> Timestamp {
        let (sum, isBeyond) = stamp.milliseconds.addingReportingOverflow(skipped)
        return isBeyond ? stamp : Timestamp(milliseconds: sum)
    }

    /// A consumer with its stamp as the wall clock shows it. A lease that is shorter than a jump
    /// may count begins again with the jump.
    func shown(_ consumer: Consumer) -> Consumer {
        var seen = shown(consumer.lastSeen)
        if let jump, let lease = consumer.lease, lease < Self.gapMax {
            seen = max(seen, Timestamp(milliseconds: jump.wall))
        }
        return Consumer(
            name: consumer.name, kind: consumer.kind, acknowledged: consumer.acknowledged,
            lease: consumer.lease, lastSeen: seen, created: consumer.created)
    }
}
