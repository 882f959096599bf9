import SyncMerge
import SyncStorage
import SyncValues

/// Versions of a cell whose writers had not seen each other, joined and decided on the bytes of the
/// record: nearly all. The others are left to ``LaneRivals``.
struct LaneContest {
    /// A stored version that stays.
    struct Version {
        let dot: Dot
        let incarnation: Int
        /// Its values, in ``FastLane/records``.
        let fields: Range<Int>
    }

    let cell: Int
    /// The version that arrives.
    let place: ArrivingFacts.Place
    /// In ``FastLane/keptVersions``.
    let kept: Range<Int>
    /// Which of the kept ones is shown; nil: the one that arrives.
    let shown: Int?
}

extension FastLane {
    /// Decides the contested cells of objects without an open conflict, of values that are stored
    /// as they are.
    /// - Throws: SQLite errors; `corrupt`.
    /// - Complexity: O(facts of the contested objects)
    func decideContests() throws {
        guard arrivals.contains(where: \.isContested) else { return }
        let hasConflicts = try storage.conflicts.isAnyOpen()
        for place in arrivals.indices where arrivals[place].isContested {
            let arrival = arrivals[place]
            let isRecord = records[arrival.record].withUnsafeBytes {
                parsed.read($0, widths: widths[arrival.entity])
            }
            guard isRecord else { continue }
            // The row of a plain object with one version of each cell shows them all.
            if hasConflicts, !parsed.isSimple, try storage.conflicts.isOpen(arrival.uid) {
                continue
            }
            let (contestCount, keptCount) = (contests.count, keptVersions.count)
            if let shown = try decide(arrival) {
                arrivals[place].isContested = false
                arrivals[place].contests = contestCount..<contests.count
                arrivals[place].shown = shown
            } else {
                contests.removeSubrange(contestCount...)
                keptVersions.removeSubrange(keptCount...)
            }
        }
    }

    /// - Parameter arrival: that of the record in ``parsed``.
    /// - Returns: the cells in which the row shows a version of the slice; nil where that is
    ///   not decided.
    private func decide(_ arrival: Arrival) throws -> PositionSet? {
        var shown = arrival.cells
        for place in order[arrival.facts] {
            let cell = cell(of: place)
            for column in 0..<widths[arrival.entity][cell]
            where tag(field(place, column)) == .blob { return nil }
            let arriving = header(transaction(of: place))
            let start = keptVersions.count
            guard let former = try keep(cell, of: arrival, beside: arriving) else {
                return nil
            }
            guard keptVersions.count > start else { continue }
            var newest = (time: arriving.time, dot: arriving.dot, place: Int?.none)
            for kept in start..<keptVersions.count {
                let dot = keptVersions[kept].dot
                let time = try time(of: dot)
                if (newest.time, newest.dot) < (time, dot) { newest = (time, dot, kept) }
            }
            if newest.place != nil {
                // Another stored version than before: the general way shows it.
                guard newest.dot == former else { return nil }
                shown.remove(cell)
            }
            contests.append(
                LaneContest(
                    cell: cell, place: place, kept: start..<keptVersions.count,
                    shown: newest.place))
        }
        return shown
    }

    /// Adds the stored versions of a cell to ``keptVersions`` that an arriving one has not seen.
    /// - Returns: the one that is shown; nil where values are not stored as they are, or a version
    ///   is of another life.
    private func keep(
        _ cell: Int, of arrival: Arrival, beside arriving: TransactionHeader
    ) throws -> Dot? {
        let span = parsed.cells[cell]
        let first = arrival.record.lowerBound
        var former: (time: HybridTime, dot: Dot)?
        var position = span.fields
        for place in 0..<span.count {
            let found = records[arrival.record].withUnsafeBytes { bytes in
                var cursor = ByteCursor(bytes, at: position)
                let version = place == 0 ? (span.dot, span.incarnation) : cursor.version()
                let fields = cursor.position
                var hasBlob = false
                for _ in 0..<widths[arrival.entity][cell] {
                    hasBlob = hasBlob || bytes[cursor.position] == 4
                    _ = cursor.skipField()
                }
                return (
                    dot: version.0, incarnation: version.1, hasBlob: hasBlob,
                    fields: fields, end: cursor.position
                )
            }
            position = found.end
            guard !found.hasBlob, found.incarnation == parsed.lifeIncarnation else { return nil }
            let dot = Dot(try replica(found.dot.replica), found.dot.number)
            let time = try time(of: dot)
            if former.map({ ($0.time, $0.dot) < (time, dot) }) ?? true { former = (time, dot) }
            if arriving.seen.covers(dot) { continue }
            keptVersions.append(
                LaneContest.Version(
                    dot: dot, incarnation: found.incarnation,
                    fields: first + found.fields..<first + found.end))
        }
        return former?.dot
    }

    private func time(of dot: Dot) throws -> HybridTime {
        try storage.headers.header(dot)?.time ?? HybridTime(rawValue: 0)
    }

    // MARK: Writing

    /// The contest about a cell of an object.
    func contest(about cell: Int, of arrival: Arrival) -> LaneContest? {
        contests[arrival.contests].first { $0.cell == cell }
    }

    /// Opens the conflicts: each version with another value than the one that is shown.
    /// - Throws: SQLite errors.
    /// - Complexity: O(contested cells)
    func openConflicts() throws {
        guard !contests.isEmpty else { return }
        var openings: [ConflictStorage.Opening] = []
        let contested = arrivals.indices.filter { !arrivals[$0].contests.isEmpty }
        for place in contested.sorted(by: { arrivals[$0].uid < arrivals[$1].uid }) {
            let contests = contests[arrivals[place].contests]
            for contest in contests.sorted(by: { $0.cell < $1.cell }) {
                try appendOpenings(of: arrivals[place], in: contest, to: &openings)
            }
        }
        try storage.conflicts.open(
            openings, schema: storage.schema.merge, number: storage.history.head)
    }

    private func appendOpenings(
        of arrival: Arrival, in contest: LaneContest,
        to openings: inout [ConflictStorage.Opening]
    ) throws {
        var writer = ByteWriter()
        for column in 0..<widths[arrival.entity][contest.cell] {
            append(field(contest.place, column), to: &writer)
        }
        var versions = keptVersions[contest.kept].map { ($0.dot, Array(records[$0.fields])) }
        versions.append((header(transaction(of: contest.place)).dot, writer.bytes))
        let (met, shown) =
            versions[contest.shown.map { $0 - contest.kept.lowerBound } ?? versions.count - 1]
        for (dot, fields) in versions.sorted(by: { $0.0 < $1.0 }) where dot != met {
            if try RecordCoding.areEqual(fields, shown) { continue }
            openings.append(
                ConflictStorage.Opening(
                    entry: .init(
                        id: VersionID(arrival.uid, cell: contest.cell, dot: dot),
                        entity: arrival.entity, reason: .lost, value: fields,
                        key: arrival.shownKey, met: met),
                    shown: shown))
        }
    }
}
