import SyncClient
import SyncCore
import SyncReplica

/// The status of stores as lines of text.
enum StatusText {
    /// The full status of one store.
    static func lines(_ status: StatusReport, named name: String) -> [String] {
        let (store, report) = (status.store, status.report)
        var rows = TextTable(styles: [.faint])
        rows.add("daemon", daemon(status))
        if let error = store.error { rows.add("problem", error.reason) }
        if let id = store.id { rows.add("store", id.description) }
        if let replica = store.replica {
            rows.add("replica", Printable.text(status.names.naming(replica.description)))
        }
        if let token = store.head?.description { rows.add("token", token) }
        var file = ByteCount.text(report.databaseBytes)
        if report.walBytes > 0 { file += ", WAL \(ByteCount.text(report.walBytes))" }
        rows.add("file", file)
        rows.add(
            "log", "\(Plural.text(Int(report.pending), of: "row")) not yet in the history")
        rows.add("purging", purging(status))
        rows.add("compared", report.compared.map { LocalTime.ago($0) } ?? "never")
        let tracked = report.entities.filter(\.isTracked).map(\.name)
        rows.add("entities", tracked.isEmpty ? "none" : tracked.joined(separator: ", "))
        var lines = [Terminal.output.styled(Printable.text(name), as: .strong)]
        lines += rows.lines(on: .output, indent: "  ")
        lines += TableText.lines(report.entities.filter { !$0.isTracked }, indent: "    ")
        for table in status.unrecorded {
            let text = "not recorded: " + table.text
            lines.append("  " + Terminal.output.styled(text, as: .changed))
        }
        if !report.consumers.isEmpty {
            lines.append("  consumers")
            lines += ConsumerText.lines(report.consumers, indent: "    ")
        }
        if !report.remotes.isEmpty {
            lines.append("  remotes")
            lines += remotes(status)
        }
        if !status.replicas.isEmpty {
            lines.append("  replicas")
            lines += LagText.lines(status.replicas, indent: "    ")
        }
        if !status.comparisons.isEmpty {
            lines.append("  comparisons")
            lines += comparisons(status.comparisons, names: status.names)
        }
        if status.conflicts > 0 {
            let conflicts =
                "\(Plural.text(Int(status.conflicts), of: "open conflict")); to decide: "
                + "synctool conflicts \(Shell.quoted(name))"
            lines.append("  " + Terminal.output.styled(Printable.text(conflicts), as: .changed))
        }
        if status.hiddenRows > 0 {
            lines.append(
                "  " + Terminal.output.styled(HiddenText.line(status.hiddenRows), as: .changed))
        }
        lines +=
            DefaultsText(
                differences: status.defaults, names: status.names, path: name
            ).lines
        lines += WaitingText(waiting: status.waiting, path: name).lines
        for line in status.unread {
            lines.append("  " + Terminal.output.styled("not read: " + line, as: .changed))
        }
        for finding in status.findings {
            let problem = "problem: \(Printable.text(finding))"
            lines.append("  " + Terminal.output.styled(problem, as: .changed))
        }
        return lines
    }

    private static func daemon(_ status: StatusReport) -> String {
        switch status.directReason {
        case .requested: return "not asked (--direct)"
        case .noDaemon: return "not running"
        case .daemonNotPermitted: return "permission to connect to it is denied"
        case .unknownToDaemon: return "does not have this store; to add it: synctool track DB"
        case .notServed(let error):
            return Printable.text("\(error.reason). \(error.hint ?? "")")
        case nil: break
        }
        guard status.store.state == .open else { return status.store.state.rawValue }
        return "watches it, \(Plural.text(status.store.subscribers, of: "subscriber"))"
    }

    private static func comparisons(
        _ comparisons: [ReplicaComparison], names: KnownNames
    ) -> [String] {
        var table = TextTable(styles: [.strong])
        for comparison in comparisons {
            table.add(
                Printable.text(names.naming(comparison.replica.description)),
                "compared \(LocalTime.ago(comparison.time))", ComparisonText.outcome(comparison))
        }
        return table.lines(on: .output, indent: "    ")
    }

    private static func remotes(_ status: StatusReport) -> [String] {
        var table = TextTable(styles: [.strong])
        for remote in status.report.remotes {
            table.add(
                remote.name, remote.url,
                state(
                    of: remote, asking: status.directReason == nil,
                    last: status.exchanges[remote.name]))
        }
        return table.lines(on: .output, indent: "    ")
    }

    /// What the daemon says of a remote. Of one that it does not use, and until it has used it,
    /// the file knows more.
    private static func state(
        of remote: RemoteStatus, asking isAsked: Bool, last exchange: LastExchange?
    ) -> String {
        let remembered = RemoteStateText.text(exchange)
        guard isAsked else { return remembered }
        let state = RemoteStateText.state(of: remote)
        let isNews = remote.lastSync == nil || exchange?.failingSince != nil
        return isNews && !remote.isFailing ? "\(state); \(remembered)" : state
    }

    /// What holds back purging.
    private static func purging(_ status: StatusReport) -> String {
        let store = StoreOverview(status.report)
        guard let consumer = store.holdingBack(at: .now()) else { return "nothing holds it back" }
        return "waits for consumer \(consumer.name), "
            + "\(Plural.text(Int(store.behind(consumer)), of: "transaction")) behind"
    }
}
