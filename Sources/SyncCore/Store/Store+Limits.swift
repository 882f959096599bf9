import SyncStorage
import SyncValues

extension Store {
    /// Removes what is beyond `limits`, as far as no live consumer needs it.
    ///
    /// What a consumer has not read stays, however old: its lease says for how long.
    ///
    /// - Throws: ``SyncError``: `busy`; what was removed until then is removed.
    /// - Complexity: O(log n) to find the place, O(changes removed) for the rest.
    @discardableResult
    public func purge(
        beyond limits: HistoryLimits, at now: Timestamp = .now()
    ) throws -> PurgeReport {
        try explaining("purge") {
            let clock = try live.withState { connection, _ in
                try StoreClock.observe(on: connection, at: now.milliseconds)
            }
            let firstToKeep = try reading.read { reader in
                try LimitSearch(reader.connection).firstToKeep(
                    under: limits, at: now, after: clock.jump)
            }
            guard let firstToKeep else {
                return PurgeReport(transactions: 0, changes: 0, passed: [])
            }
            let floor = try consumers(at: now).filter { $0.holdsHistory(at: now) }
                .map(\.acknowledged).min()
            _ = try digest()
            return try purge(goal: min(firstToKeep, floor ?? .max), passed: [])
        }
    }
}

/// Finds the beginning of the history that limits keep.
private struct LimitSearch {
    private let ends: Statement
    private let next: Statement
    private let sample: Statement

    init(_ connection: OpaquePointer) throws {
        ends = try Statement(TransactionTable.endsSQL, on: connection)
        next = try Statement(TransactionTable.headerSQL, on: connection)
        sample = try Statement(ChangeTable.averageBytesSQL, on: connection)
    }

    /// - Parameter jump: the last one of the clock.
    /// - Returns: the number of the first transaction that stays; nil when nothing is to go.
    func firstToKeep(
        under limits: HistoryLimits, at now: Timestamp, after jump: StoreClock.Jump?
    ) throws -> Int64? {
        defer { ends.reset() }
        guard try ends.step(), let first = ends.integerOrNil(0), let last = ends.integerOrNil(1)
        else { return nil }
        var goals: [Int64] = []
        if let age = limits.age {
            goals.append(
                try firstWithin(age, of: now.milliseconds, from: first, to: last, after: jump))
        }
        if let bytes = limits.bytes {
            defer { sample.reset() }
            let each = try sample.step() ? max(1, sample.real(0)) : 1
            // A number is used for one change at most.
            let count = Int64(exactly: (Double(bytes) / each).rounded(.down)) ?? .max
            let goal = last.subtractingReportingOverflow(count)
            goals.append(goal.overflow ? .min : goal.partialValue)
        }
        return goals.max().flatMap { $0 > first ? $0 : nil }
    }

    /// Where the clock has jumped, what was committed before has times of the clock before: it goes
    /// at its age by that clock, or all of it once the clock after it has gone on for as long.
    private func firstWithin(
        _ age: Duration, of now: Int64, from first: Int64, to last: Int64,
        after jump: StoreClock.Jump?
    ) throws -> Int64 {
        let (limit, isBeyond) = now.subtractingReportingOverflow(age.milliseconds)
        if isBeyond { return first }
        guard let jump, jump.number >= first, jump.wall > limit else {
            return try firstSince(limit, from: first, to: last)
        }
        let (before, isBefore) = limit.subtractingReportingOverflow(jump.skipped)
        if isBefore { return first }
        return try firstSince(before, from: first, to: min(last, jump.number))
    }

    /// Times follow the numbers as wall clocks follow time: a clock that was set back costs
    /// accuracy, nothing else.
    private func firstSince(_ time: Int64, from first: Int64, to last: Int64) throws -> Int64 {
        var (low, high) = (first, last)
        while low < high {
            // Numbers of a damaged file may be so far apart that their difference is no number.
            let middle = (low & high) + ((low ^ high) >> 1)
            next.bind(middle, at: 1)
            defer { next.reset() }
            guard try next.step() else { return low }
            let number = next.integer(0)
            if next.integer(2) >= time || number == .max { high = middle } else { low = number + 1 }
        }
        return low
    }
}
