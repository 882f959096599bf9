import ArgumentParser
import SyncRemotes
import SyncReplica

/// What `push`, `pull` and `sync` do with each of the remotes they are asked for.
struct ExchangeRun {
    /// How often the remote is asked whether the others have it.
    private static let waitInterval: Duration = .milliseconds(200)

    let path: String
    let direction: RemoteConnection.Direction
    /// How long to wait until all others have merged what is here; nil: not at all.
    var patience: Duration?
    let common: CommonOptions

    /// - Parameter name: the remote; nil: all of them, also when one fails.
    /// - Throws: the first failure.
    func run(remote name: String?) async throws {
        let absolute = StorePath.absolute(path)
        let (entries, ring) = try Self.remotes(absolute, named: name)
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        if entries.count == 1 { return try await exchange(replica, entries[0], ring) }
        var status: Int32?
        for entry in entries {
            do {
                try await exchange(replica, entry, ring)
            } catch let error as SyncError {
                let command = "\(direction.rawValue) \(entry.name)"
                status = status ?? Failure.report(error, command: command, typed: path)
            }
        }
        if let status { throw ExitCode(status) }
    }

    private static func remotes(
        _ path: String, named name: String?
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
        _ replica: StoreReplica, _ entry: RemoteEntry, _ ring: KeyRing
    ) async throws {
        let begin = ContinuousClock.now
        let remote = try RemoteConnection(
            entry, store: replica.storeID, replica: replica.replicaID, ring: ring)
        let progress = ProgressLine(entry.name)
        let report: ExchangeReport
        do {
            report = try await remote.exchange(direction, replica) { progress.show($0) }
            if let patience { try await wait(replica, remote, patience) }
        } catch {
            progress.end()
            await remote.disconnect()
            throw error
        }
        progress.end()
        await remote.disconnect()
        let line = ExchangeLine(
            remote: entry.name, report: report, direction: direction,
            conflicts: try replica.conflicts().count, duration: .now - begin, path: path)
        try line.print(common)
        for table in try replica.unrecordedTables() {
            try Terminal.error.line(
                "  not synchronised: \(Printable.text(table)) is a new table; "
                    + "run: synctool track \(Shell.quoted(path))")
        }
        if let key = report.missingKey { throw BatchSeal.missingKey(key) }
    }

    /// Until every other replica that uses the remote has said that it has merged what is here.
    private func wait(
        _ replica: StoreReplica, _ remote: RemoteConnection, _ patience: Duration
    ) async throws {
        let wanted = try replica.vector
        let end = ContinuousClock.now + patience
        while true {
            let others = try await remote.acknowledged().filter { $0.key != replica.replicaID }
            let late = others.filter { !$0.value.covers(wanted) }
            if !others.isEmpty, late.isEmpty { return }
            guard ContinuousClock.now < end else {
                let names = late.keys.map(\.description).sorted().joined(separator: ", ")
                throw SyncError(
                    .busy,
                    others.isEmpty
                        ? "no other replica has used the remote yet"
                        : "replica \(names) has not merged it yet",
                    path: path, hint: "It was sent; wait longer with --timeout, or ask there")
            }
            try await Task.sleep(for: Self.waitInterval)
        }
    }
}
