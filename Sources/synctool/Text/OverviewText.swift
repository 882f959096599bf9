import SyncClient
import SyncReplica

/// All stores of the daemon on one screen: a line for each, and below it what is behind or wrong.
struct OverviewText {
    /// With more stores than this, remotes and replicas that have everything get no line.
    private static let detailedStoresMax = 8

    let overview: DaemonOverview
    let socket: String
    var now = Timestamp.now()

    var lines: [String] {
        [heading] + reload + overview.stores.flatMap(lines(of:))
    }

    private var reload: [String] {
        guard let failure = overview.reloadFailure else { return [] }
        let text = Printable.text(ReloadText.line(failure, now: now))
        return ["  " + Terminal.output.styled(text, as: .gone)]
    }

    private var heading: String {
        let process = overview.process
        var clients = Plural.text(Int(process.clients), of: "client")
        if process.dropped > 0 { clients += " (\(process.dropped) dropped)" }
        if process.refused > 0 { clients += " (\(process.refused) refused)" }
        let since = LocalTime.ago(process.started, now: now)
        return "syncd \(process.version) at \(Printable.text(socket)), started \(since): "
            + "\(Plural.text(overview.stores.count, of: "store")), \(clients), "
            + ByteCount.text(process.memoryBytes)
    }

    private func lines(of overview: StoreOverview) -> [String] {
        let store = overview.store
        let title = Terminal.output.styled(Printable.text(store.path), as: .strong)
        guard store.state == .open else {
            let state = Terminal.output.styled(store.state.rawValue, as: .gone)
            let reason = store.error.map { ": " + Printable.text($0.reason) } ?? ""
            return ["\(title)  \(state)\(reason)"]
        }
        var parts = ["open"]
        if let number = store.head?.number { parts.append("transaction \(number)") }
        parts.append(Plural.text(store.subscribers, of: "subscriber"))
        if let contents = overview.contents {
            if !contents.consumers.isEmpty {
                parts.append(Plural.text(contents.consumers.count, of: "consumer"))
            }
            if contents.pendingRows > 0 {
                parts.append("\(Plural.text(Int(contents.pendingRows), of: "row")) to digest")
            }
        }
        if !overview.remotes.isEmpty {
            parts.append(Plural.text(overview.remotes.count, of: "remote"))
        }
        return ["\(title)  " + parts.joined(separator: ", ")]
            + details(of: overview).lines(on: .output, indent: "  ") + remarks(on: overview)
    }

    private func details(of store: StoreOverview) -> TextTable {
        var table = TextTable(styles: [.faint, .strong])
        let isBrief = overview.stores.count > Self.detailedStoresMax
        for remote in store.remotes
        where !isBrief || remote.error != nil || remote.behindSince != nil {
            table.add("remote", remote.name, RemoteStateText.state(of: remote, now: now))
        }
        let holder = store.holdingBack(at: now)
        for consumer in store.contents?.consumers ?? [] where store.behind(consumer) > 0 {
            table.add(
                "consumer", consumer.name,
                ConsumerText.lag(of: consumer, in: store, now: now)
                    + (consumer.name == holder?.name ? "; purging waits for it" : ""))
        }
        for replica in store.contents?.replicas ?? [] where !isBrief || replica.behind > 0 {
            table.add("replica", LagText.title(of: replica), LagText.state(of: replica, now: now))
        }
        return table
    }

    private func remarks(on store: StoreOverview) -> [String] {
        var lines = store.troubles.map { trouble in
            let text = "problem: " + TroubleText.line(trouble, now: now)
            return "  " + Terminal.output.styled(Printable.text(text), as: .gone)
        }
        let path = Shell.quoted(store.store.path)
        if let count = store.contents?.conflicts, count > 0 {
            let text =
                "\(Plural.text(Int(count), of: "open conflict")); to decide: "
                + "synctool conflicts \(path)"
            lines.append("  " + Terminal.output.styled(Printable.text(text), as: .changed))
        }
        if store.traffic.lagged > 0 {
            lines.append(
                "  subscribers were too slow \(Plural.text(Int(store.traffic.lagged), of: "time"))"
                    + ", and went on from the history")
        }
        if let error = store.traffic.lastError, let time = store.traffic.lastErrorTime,
            !store.troubles.contains(where: { $0.text == error })
        {
            lines.append(
                "  last error \(LocalTime.ago(time, now: now)): \(Printable.text(error))")
        }
        return lines
    }
}
