import Foundation
import SyncCore
import Testing

@testable import SyncClient

/// The text that monitoring reads, and what names its metrics: page, dashboard, alert rules.
@Suite struct MetricsTextTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    private func store(_ path: String, number: Int64, notices: Int64) throws -> StoreOverview {
        let token = try Token("1.98cae9c923b24d1b1048cb1dfbb607e1.1.\(number).0")
        var store = StoreOverview(
            store: StoreSummary(
                path: path, state: .open, id: nil, replica: nil, head: token, subscribers: 2,
                error: nil), databaseBytes: 4096, walBytes: 0)
        store.traffic.notices = notices
        store.traffic.latency.note(.microseconds(300), count: notices)
        store.traffic.latency.note(.seconds(60))
        store.traffic.errors = 1
        store.traffic.lastErrorTime = now
        var remote = RemoteStatus(
            name: "origin", url: "ssh://secret@host/x", state: .failed, lastSync: now,
            behindSince: Timestamp(milliseconds: now.milliseconds - 1500), error: "no route")
        remote.behind = 3
        // One that was not reached since the start: what it lacks is not known.
        var unknown = RemoteStatus(
            name: "away", url: "dir:/x", state: .failed, lastSync: nil, behindSince: nil,
            error: "no route")
        unknown.failingSince = now
        store.remotes = [remote, unknown]
        store.troubles = [
            StoreTrouble(.digesting, reason: "disk full", hint: "Free some space", since: now)
        ]
        store.contents = StoreOverview.Contents(
            pendingRows: 7, conflicts: 1,
            consumers: [
                Consumer(
                    name: "in\"dex\n", kind: .reader, acknowledged: number - 2, lease: nil,
                    lastSeen: now, created: now)
            ],
            replicas: [
                ReplicaLag(
                    replica: try #require(ReplicaID("98cae9c923b24d1b1048cb1dfbb607e1")),
                    name: "kiosk", behind: 4, behindSince: now, isAbsent: false)
            ])
        return store
    }

    private func overview() throws -> DaemonOverview {
        var overview = DaemonOverview(
            process: .init(
                version: "1.2", started: now, clients: 3, dropped: 1, refused: 0, workers: 0,
                memoryBytes: 10),
            stores: [
                try store("/srv/a b.db", number: 10, notices: 5),
                try store("/srv/\\x.db", number: 20, notices: 7),
            ])
        overview.reloadFailure = ReloadFailure(reason: "syncd.yaml:6: no", time: now)
        return overview
    }

    private func lines(_ format: MetricsText.Format, namesStores: Bool = true) throws -> [String] {
        let text = MetricsText(
            try overview(), format: format, namesStores: namesStores, now: now
        ).text
        #expect(text.hasSuffix("\n"))
        return text.split(separator: "\n").map(String.init)
    }

    @Test func valuesHaveTheirLabels() throws {
        let lines = try lines(.prometheus)
        for line in [
            #"syncd_build_info{version="1.2"} 1"#, "syncd_clients 3",
            #"syncd_stores{state="open"} 2"#, #"syncd_transactions_total{store="/srv/a b.db"} 10"#,
            #"syncd_transactions_total{store="/srv/\\x.db"} 20"#,
            #"syncd_remote_behind_seconds{store="/srv/a b.db",remote="origin"} 1.5"#,
            #"syncd_remote_behind_transactions{store="/srv/a b.db",remote="origin"} 3"#,
            #"syncd_remote_up{store="/srv/a b.db",remote="origin"} 0"#,
            #"syncd_consumer_behind_transactions{store="/srv/a b.db",consumer="in\"dex\n"} 2"#,
            #"syncd_notice_latency_seconds_bucket{store="/srv/a b.db",le="0.00025"} 0"#,
            #"syncd_notice_latency_seconds_bucket{store="/srv/a b.db",le="0.0005"} 5"#,
            #"syncd_notice_latency_seconds_bucket{store="/srv/a b.db",le="+Inf"} 6"#,
            #"syncd_notice_latency_seconds_sum{store="/srv/a b.db"} 60.0015"#,
            #"syncd_notice_latency_seconds_count{store="/srv/a b.db"} 6"#,
            "syncd_start_time_seconds 1700000000", "syncd_reload_failed 1",
            #"syncd_store_troubles{store="/srv/a b.db"} 1"#,
            #"syncd_remote_up{store="/srv/a b.db",remote="away"} 0"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(!lines.contains { $0.contains("secret") })
        #expect(!lines.contains { $0.contains("behind") && $0.contains("away") })
    }

    @Test func anOverviewReadsBackTheSame() throws {
        let overview = try overview()
        let read = try DaemonOverview(overview.jsonObject)
        #expect(read.reloadFailure == overview.reloadFailure)
        #expect(read.stores.map(\.troubles) == overview.stores.map(\.troubles))
        #expect(read.stores.map(\.remotes) == overview.stores.map(\.remotes))
    }

    /// Every metric has a value here, each is described once, and nothing else is in the text.
    @Test(arguments: [MetricsText.Format.prometheus, .openMetrics])
    func theTextIsWellFormed(_ format: MetricsText.Format) throws {
        var described: [String] = []
        for line in try lines(format) {
            if line.hasPrefix("# TYPE ") {
                described.append(String(line.split(separator: " ")[2]))
            } else if !line.hasPrefix("#") {
                let shape = /[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? -?[0-9]+(\.[0-9]+)?/
                #expect(line.wholeMatch(of: shape) != nil, "\(line)")
                #expect(line.hasPrefix(described.last ?? "?"), "\(line)")
            }
        }
        let bare = format == .openMetrics
        let names = Metric.all.map { metric in
            bare && metric.kind == .counter ? String(metric.name.dropLast(6)) : metric.name
        }
        #expect(described == names)
        #expect(try lines(format).last == "# EOF" || !bare)
        #expect(Set(names).count == names.count)
    }

    @Test func withoutNamesThereIsOneValueEach() throws {
        let lines = try lines(.prometheus, namesStores: false)
        for line in [
            "syncd_transactions_total 30", "syncd_notices_total 12", "syncd_store_up 1",
            "syncd_remote_behind_transactions 3", "syncd_pending_rows 14",
            "syncd_notice_latency_seconds_count 14", "syncd_replica_behind_transactions 4",
            #"syncd_stores{state="open"} 2"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        for name in ["/srv", "origin", "kiosk", "dex"] {
            #expect(!lines.contains { $0.contains(name) }, "\(name)")
        }
    }

    // MARK: What names them

    private func file(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    @Test func thePageListsEachWithKindAndLabels() throws {
        let page = try file("docs/monitoring.md")
        let rows = page.matches(of: /\n\| `(syncd_[a-z_]+)` \| (\w+) \|([^|]*)\| [^|]+ \|/)
        let listed = rows.map { row in
            let labels = row.3.split(separator: ",").map {
                $0.trimmingCharacters(in: CharacterSet(charactersIn: "` "))
            }.filter { !$0.isEmpty }
            return "\(row.1) \(row.2) \(labels)"
        }
        #expect(listed == Metric.all.map { "\($0.name) \($0.kind.rawValue) \($0.labels)" })
    }

    @Test func aDaemonThatDoesNotAnswerIsDown() {
        let text = MetricsText(ofNone: .openMetrics).text
        #expect(text.contains("\nsyncd_up 0\n") && text.hasSuffix("# EOF\n"), "\(text)")
        #expect(text.split(separator: "\n").count == 4)
    }

    @Test(arguments: ["monitoring/grafana-dashboard.json", "monitoring/alerts.yaml"])
    func everyMetricThatAFileNamesExists(_ path: String) throws {
        let text = try file(path)
        var known = Set(Metric.all.map(\.name))
        for metric in Metric.all where metric.kind == .histogram {
            known.formUnion(["_bucket", "_sum", "_count"].map { metric.name + $0 })
        }
        let named = Set(text.matches(of: /\bsyncd_[a-z_]+/).map { String($0.0) })
        #expect(named.count > 8)
        #expect(named.subtracting(known) == [])
        let labels = Set(Metric.all.flatMap(\.labels) + ["value", "instance", "le"])
        let used = text.matches(of: /\{\{ ?(?:\$labels\.)?\$?([a-z]+)/).map { String($0.1) }
        #expect(Set(used).subtracting(labels) == [])
        // Rates are of counters, everything else is not.
        for match in text.matches(of: /(?:rate|increase)\((syncd_[a-z_]+)/) {
            let name = String(match.1)
            #expect(name.hasSuffix("_total") || name.hasSuffix("_bucket"), "\(name)")
        }
    }

    /// A failure that lasts is counted once, or again and again: what is counted within a window is
    /// true for no longer than that, and a rule that waits as long for it never fires.
    @Test func noRuleWaitsLongerThanItsCountLasts() throws {
        let text = try file("monitoring/alerts.yaml")
        let rules = text.components(separatedBy: "- alert: ").dropFirst()
        #expect(rules.count > 10)
        for rule in rules {
            guard let window = rule.firstMatch(of: /increase\([^\[]*\[(\d+)m\]/),
                let wait = rule.firstMatch(of: /\n +for: (\d+)m/)
            else { continue }
            let (minutes, waited) = (Int(window.1) ?? 0, Int(wait.1) ?? .max)
            #expect(waited < minutes, "\(rule.prefix(200))")
        }
        // What fails at present has a gauge.
        #expect(rules.contains { $0.contains("syncd_store_troubles > 0") })
    }

    @Test func theDashboardIsJSON() throws {
        let json = try JSONSerialization.jsonObject(
            with: Data(try file("monitoring/grafana-dashboard.json").utf8))
        let panels = (json as? [String: Any])?["panels"] as? [[String: Any]]
        #expect((panels?.count ?? 0) > 10)
    }
}
