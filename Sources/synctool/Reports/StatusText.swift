import SyncClient
import SyncCore

/// The status of stores as lines for a person.
enum StatusText {
    /// One line for each store.
    static func list(_ stores: [StoreSummary]) -> [String] {
        var table = TextTable(styles: [.strong])
        for store in stores {
            table.add(
                store.path, store.state.rawValue, Plural.text(store.subscribers, "subscriber"),
                store.error?.reason ?? "")
        }
        return table.lines(on: .output)
    }

    /// All of one store.
    static func lines(_ status: StatusReport, named name: String) -> [String] {
        let (store, report) = (status.store, status.report)
        var rows = TextTable(styles: [.faint])
        rows.add("daemon", daemon(status))
        if let error = store.error { rows.add("problem", error.reason) }
        if let id = store.id { rows.add("store", id.description) }
        if let replica = store.replica { rows.add("replica", replica.description) }
        if let token = store.head?.description { rows.add("token", token) }
        var file = bytes(report.databaseBytes)
        if report.walBytes > 0 { file += ", and \(bytes(report.walBytes)) in its WAL" }
        rows.add("file", file)
        rows.add("log", "\(Plural.text(Int(report.pending), "row")) not digested yet")
        let tracked = report.entities.filter(\.isTracked).map(\.name)
        rows.add("entities", tracked.isEmpty ? "none" : tracked.joined(separator: ", "))
        var lines = [Terminal.output.styled(Printable.text(name), .strong)]
        lines += rows.lines(on: .output, indent: "  ")
        lines += TableText.lines(report.entities.filter { !$0.isTracked }, indent: "    ")
        if !report.consumers.isEmpty {
            lines.append("  consumers")
            lines += ConsumerText.lines(report.consumers, indent: "    ")
        }
        if !report.remotes.isEmpty {
            lines.append("  remotes")
            lines += remotes(report.remotes)
        }
        for finding in report.findings {
            lines.append("  " + Terminal.output.styled("attention: \(finding)", .changed))
        }
        return lines
    }

    private static func daemon(_ status: StatusReport) -> String {
        if status.isDirect { return "not asked; this is read from the file" }
        guard status.store.state == .open else { return status.store.state.rawValue }
        return "watches it, for \(Plural.text(status.store.subscribers, "subscriber"))"
    }

    private static func remotes(_ remotes: [RemoteStatus]) -> [String] {
        var table = TextTable(styles: [.strong])
        for remote in remotes {
            var state = remote.lastSync.map { "in step \(LocalTime.ago($0))" } ?? "not yet in step"
            if let since = remote.behindSince {
                state = "something waits to be sent since \(LocalTime.text(since))"
            }
            if let error = remote.error { state += "; " + error }
            table.add(remote.name, remote.url, state)
        }
        return table.lines(on: .output, indent: "    ")
    }

    static func bytes(_ count: Int64) -> String {
        switch count {
        case ..<10_000: return "\(count) bytes"
        case ..<10_000_000: return "\(count / 1000) kB"
        default: return "\(count / 1_000_000) MB"
        }
    }
}
