import ArgumentParser
import SyncRemotes
import SyncReplica

/// Runs `push`, `pull` or `sync` with one remote or with all of them.
struct ExchangeRun {
    /// How often the acknowledgements at the remote are read while waiting.
    private static let waitInterval: Duration = .milliseconds(200)
    /// How long an exchange is tried again while others hold the database. An exchange goes on
    /// where the one before ended, no matter who made it.
    private static let busyMax: Duration = .seconds(30)

    let path: String
    let direction: ExchangeDirection
    /// How long to wait until all other replicas have merged the changes; nil: do not wait.
    var waitMax: Duration?
    let isJSON: Bool

    /// - Parameter name: the remote; nil: all of them, also when one fails.
    /// - Throws: the error of a single remote; the exit status of the first failure of several.
    func run(remote name: String?) async throws {
        let absolute = StorePath.absolute(path)
        let (entries, ring) = try Self.remotes(of: absolute, named: name)
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        if entries.count == 1 {
            return try await exchange(replica, with: entries[0], ring: ring)
        }
        var status: Int32?
        for entry in entries {
            do {
                try await exchange(replica, with: entry, ring: ring)
            } catch let error as SyncError {
                let command = "\(direction.rawValue) \(entry.name)"
                let failure = Failure(command: command, typed: path, isJSON: isJSON)
                let reported = failure.report(error)
                status = status ?? reported
            }
        }
        if let status { throw ExitCode(status) }
    }

    private static func remotes(
        of path: String, named name: String?
    ) throws -> (entries: [RemoteEntry], ring: KeyRing) {
        let store = try Store.open(path)
        defer { try? store.close() }
        let entries = try name.map { [try store.remote($0)] } ?? store.remotes()
        guard !entries.isEmpty else {
            throw SyncError(
                .refused, "the store has no remotes", path: path,
                hint: "Add one: synctool remote add DB origin dir:/path/of/a/folder")
        }
        return (entries, try store.keyRing())
    }

    private func exchange(
        _ replica: StoreReplica, with entry: RemoteEntry, ring: KeyRing
    ) async throws {
        let begin = ContinuousClock.now
        let known = try await BusyWait.repeating(atMost: Self.busyMax) {
            Set(try replica.members().map(\.replica))
        }
        let progress = ProgressLine(entry.name)
        defer { progress.end() }
        var isOver = false
        let report = try await BusyWait.repeating(atMost: Self.busyMax, while: { !isOver }) {
            try await replica.exchange(
                direction, with: entry, ring: ring, progress: { progress.show($0) },
                whileConnected: { connection in
                    // Nobody merges what an excluded replica sends.
                    guard let waitMax, try replica.exclusion == nil else { return }
                    isOver = true
                    try await wait(for: replica, at: connection, atMost: waitMax)
                },
                completed: { report in
                    let told = try text(about: report, of: replica, with: entry, since: begin)
                    isOver = true
                    progress.end()
                    try told.print(asJSON: isJSON)
                    try printRest(told, of: replica, members: known)
                })
        }
        // Everything was sent and merged: what differs is told after that.
        if var error = StateDifference.error(report.differences, path: path) {
            error.reason = try replica.replicaNames().naming(error.reason).printable(countMax: 2000)
            throw error
        }
        if let lack = report.lack { throw lack }
        // What was sent is merged when a member admits this replica.
        if direction != .pull, var exclusion = try replica.exclusion {
            exclusion.reason = try replica.replicaNames().naming(exclusion.reason)
            throw exclusion
        }
    }

    private func text(
        about report: ExchangeReport, of replica: StoreReplica, with entry: RemoteEntry,
        since begin: ContinuousClock.Instant
    ) throws -> ExchangeText {
        let names = try replica.replicaNames()
        let defaults = DefaultsText(
            differences: try replica.differentDefaults(), names: names, path: path)
        return ExchangeText(
            remote: entry.name, report: report, direction: direction,
            conflicts: try replica.conflicts().count, duration: .now - begin,
            compared: try replica.lastComparison(), path: path, names: names,
            hiddenRows: try replica.hiddenRowCount(),
            unsynced: UnsyncedText(rows: try replica.unsyncedRows(), path: path),
            defaults: defaults)
    }

    /// What the exchange left to say.
    private func printRest(
        _ text: ExchangeText, of replica: StoreReplica, members known: Set<ReplicaID>
    ) throws {
        try MemberText.printNew(
            try replica.members(), names: text.names, besides: known, path: path)
        try printUntracked(of: replica)
        try HiddenText.print(text.hiddenRows, path: path)
        try text.defaults?.print()
        try text.unsynced?.print()
    }

    private func printUntracked(of replica: StoreReplica) throws {
        for table in try replica.unrecordedTables() {
            try Terminal.error.line(
                "  not synchronised: \(Printable.text(table)) is a new table; "
                    + "run: synctool track \(Shell.quoted(path))")
        }
    }

    /// Waits until every other replica that uses the remote has acknowledged all local changes.
    private func wait(
        for replica: StoreReplica, at remote: RemoteConnection, atMost waitMax: Duration
    ) async throws {
        let wanted = try replica.vector
        let end = ContinuousClock.now + waitMax
        while true {
            let others = try await remote.acknowledged().filter { $0.key != replica.replicaID }
            let late = others.filter { !$0.value.covers(wanted) }
            if !others.isEmpty, late.isEmpty { return }
            guard ContinuousClock.now < end else {
                let known = try replica.replicaNames()
                let names = late.keys.map { known.title(of: $0) }.sorted().joined(separator: ", ")
                throw SyncError(
                    .busy,
                    others.isEmpty
                        ? "no other replica has used the remote yet"
                        : "replica \(names) has not merged the changes yet",
                    path: path,
                    hint: "The changes were sent. Wait longer with --timeout 10m, or run there: "
                        + "synctool pull FILE")
            }
            try await Task.sleep(for: Self.waitInterval)
        }
    }
}
