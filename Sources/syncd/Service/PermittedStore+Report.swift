import Glibc
import SyncClient
import SyncCore
import Varlink

extension PermittedStore {
    /// Everything about the store, for `Status`. Blocks.
    ///
    /// - Throws: ``SyncError`` of the queries.
    func report() throws -> StoreReport {
        let path = hub.path
        guard let openedNow else {
            return StoreReport(
                store: summary(), pending: 0, databaseBytes: Self.size(path),
                walBytes: Self.size(path + "-wal"), entities: [], consumers: [],
                findings: whyClosed.map { [$0] } ?? [])
        }
        let store = openedNow.store
        let status = try store.status()
        var report = StoreReport(
            store: summary(), pending: status.logRows, databaseBytes: status.fileBytes,
            walBytes: Self.size(path + "-wal"),
            entities: status.entities.map { TableSummary(name: $0, outcome: "tracked") },
            consumers: status.consumers,
            findings: try findings().all + store.exchangeFindings())
        report.compared = try store.lastComparison()
        report.ignoresRemotes = !(FileOwnership(of: path)?.isOwn ?? false)
        return report
    }

    /// What is wrong with the recording, a sentence each; and what of it may keep writes from the
    /// history.
    ///
    /// - Throws: as ``report()``.
    func findings() throws -> (all: [String], unrecorded: [String]) {
        let store = try store()
        let found = try store.verifyCapture()
        let unrecorded = found.filter { $0.mayHaveLostChanges || $0.isOfMigration }
        var findings = found.map(\.explanation)
        findings += try store.unreadableTables().map(\.explanation)
        // The others are said here, each in its own way.
        let others: Set<StoreTrouble.Work> = [.journal, .unreadable, .remade, .links]
        findings += hub.state.troubles.filter { !others.contains($0.work) }.map { trouble in
            trouble.text + (trouble.hint.map { ". \($0)" } ?? "")
        }
        if let fault = openedNow?.journal.fault {
            findings.append(
                fault + ". Commits are told when they are in the history tables; make room for it")
        }
        return (findings, unrecorded.map(\.explanation))
    }

    private var whyClosed: String? {
        do {
            _ = try store()
            return nil
        } catch {
            return "\(error)"
        }
    }

    static func size(_ path: String) -> Int64 {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
}
