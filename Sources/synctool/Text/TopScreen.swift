import SyncClient
import SyncReplica

/// One picture of `synctool top`: the stores that do most first, from two overviews.
struct TopScreen {
    /// How two overviews differ, for one store.
    private struct Row {
        let overview: StoreOverview
        let commits: Double
        let notices: Double
        let latency: Duration?
    }

    private let overview: DaemonOverview
    private let rows: [Row]
    private let now: Timestamp

    /// - Parameters:
    ///   - before: nil: there are no rates yet.
    ///   - elapsed: between the two.
    init(
        _ overview: DaemonOverview, after before: DaemonOverview?, elapsed: Duration,
        now: Timestamp = .now()
    ) {
        self.overview = overview
        self.now = now
        let seconds = max(elapsed / .seconds(1), 0.001)
        let known = Dictionary((before?.stores ?? []).map { ($0.store.path, $0) }) { first, _ in
            first
        }
        rows = overview.stores.map { store in
            guard let former = known[store.store.path], former.store.state == .open else {
                return Row(overview: store, commits: 0, notices: 0, latency: nil)
            }
            let commits = (store.store.head?.number ?? 0) - (former.store.head?.number ?? 0)
            let notices = store.traffic.notices - former.traffic.notices
            return Row(
                overview: store, commits: Double(max(0, commits)) / seconds,
                notices: Double(max(0, notices)) / seconds,
                latency: Self.mean(of: store.traffic.latency, since: former.traffic.latency))
        }.sorted { first, second in
            if first.commits != second.commits { return first.commits > second.commits }
            if first.notices != second.notices { return first.notices > second.notices }
            return first.overview.store.path < second.overview.store.path
        }
    }

    private static func mean(
        of latency: LatencyHistogram, since former: LatencyHistogram
    ) -> Duration? {
        let count = latency.count - former.count
        return count > 0 ? .microseconds((latency.sum - former.sum) / count) : nil
    }

    /// - Parameters:
    ///   - width: in columns.
    ///   - height: in lines; nil: all stores.
    func lines(width: Int, height: Int?) -> [String] {
        var lines = [fit(heading, width), ""]
        let titles = fit(Self.line(columns: Self.titles, last: "STORE", width: width), width)
        lines.append(Terminal.output.styled(titles, as: .faint))
        let shown = height.map { max(1, $0 - lines.count - 1) } ?? rows.count
        for row in rows.prefix(shown) { lines.append(line(of: row, width: width)) }
        if rows.count > shown { lines.append(fit("and \(rows.count - shown) more", width)) }
        return lines
    }

    private var heading: String {
        let process = overview.process
        let commits = rows.reduce(0) { $0 + $1.commits }
        let notices = rows.reduce(0) { $0 + $1.notices }
        let open = overview.stores.count { $0.store.state == .open }
        var parts = [
            "syncd \(process.version)",
            "\(open) of \(Plural.text(overview.stores.count, of: "store")) open",
            Plural.text(Int(process.clients), of: "client"),
            "\(Self.rate(commits)) commits/s", "\(Self.rate(notices)) notices/s",
            ByteCount.text(process.memoryBytes),
        ]
        if process.dropped > 0 { parts.insert("\(process.dropped) dropped", at: 3) }
        return parts.joined(separator: ", ")
    }

    // MARK: Rows

    private static let titles = ["COMMIT/S", "NOTICE/S", "LATENCY", "SUBS", "LAG", "CONFL"]
    private static let widths = [8, 8, 8, 4, 14, 5]

    /// In a narrow window the last columns give way to the path of the store.
    private static let pathWidthMin = 16

    private static func line(columns: [String], last: String, width: Int) -> String {
        var (count, used) = (0, 0)
        while count < widths.count, used + widths[count] + 2 + pathWidthMin <= width {
            used += widths[count] + 1
            count += 1
        }
        let texts = zip(columns, widths).prefix(count).map { text, width in
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        return texts.isEmpty ? last : texts.joined(separator: " ") + "  " + last
    }

    private func line(of row: Row, width: Int) -> String {
        let store = row.overview.store
        let path = Printable.text(store.path)
        guard store.state == .open else {
            let head = Self.line(
                columns: ["-", "-", "-", "-", store.state.rawValue, "-"], last: "", width: width)
            return Terminal.output.styled(head + Self.end(of: path, width - head.count), as: .gone)
        }
        let conflicts = row.overview.contents?.conflicts ?? 0
        let head = Self.line(
            columns: [
                Self.rate(row.commits), Self.rate(row.notices),
                row.latency.map(Self.milliseconds) ?? "-", "\(store.subscribers)", lag(of: row),
                "\(conflicts)",
            ], last: "", width: width)
        let isBehind = conflicts > 0 || row.overview.remotes.contains(where: \.isFailing)
        return Terminal.output.styled(head, as: isBehind ? .changed : .plain)
            + Self.end(of: path, width - head.count)
    }

    /// The remote that is furthest behind: `14 tx 3m`.
    private func lag(of row: Row) -> String {
        let behind = row.overview.remotes.filter { $0.behindSince != nil }
        guard let oldest = behind.compactMap(\.behindSince).min() else {
            if row.overview.remotes.contains(where: \.isFailing) { return "failing" }
            return row.overview.remotes.isEmpty ? "-" : "0"
        }
        let count = behind.compactMap(\.behind).max() ?? 0
        let seconds = max(0, now.milliseconds - oldest.milliseconds) / 1000
        let units: [(Int64, String)] = [(86_400, "d"), (3_600, "h"), (60, "m")]
        for (length, unit) in units where seconds >= length {
            return "\(count) tx \(seconds / length)\(unit)"
        }
        return "\(count) tx \(seconds)s"
    }

    private static func rate(_ value: Double) -> String {
        if value == 0 { return "0" }
        return value < 10 ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let microseconds = duration / .microseconds(1)
        if microseconds < 10_000 { return "\((microseconds / 100).rounded() / 10)ms" }
        return "\(Int((microseconds / 1000).rounded()))ms"
    }

    private func fit(_ text: String, _ width: Int) -> String {
        text.count > width ? text.prefix(max(0, width - 1)) + "…" : text
    }

    /// The end of a path says more than its beginning.
    private static func end(of path: String, _ width: Int) -> String {
        path.count > width ? "…" + path.suffix(max(0, width - 1)) : path
    }
}
