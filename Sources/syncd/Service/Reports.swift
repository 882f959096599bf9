import Glibc
import SyncClient
import SyncCore
import Varlink

extension StoreAccess {
    /// All that is known of the store. Blocks.
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
        return StoreReport(
            store: summary(), pending: status.logRows, databaseBytes: status.fileBytes,
            walBytes: Self.size(path + "-wal"),
            entities: status.entities.map { TableSummary(name: $0, outcome: "tracked") },
            consumers: status.consumers,
            findings: try store.verifyCapture().map(\.explanation))
    }

    private var whyClosed: String? {
        do {
            _ = try store()
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func size(_ path: String) -> Int64 {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
}

extension StoreHub {
    /// Purges, and tells the subscribers. Blocks.
    /// - Parameter store: as the caller was checked for it.
    func purge(_ store: Store, before: Token?, force: Bool) throws -> JSONObject {
        let report = try store.purge(before: before, force: force)
        // The oldest position that still works.
        var oldest = HistoryQuery()
        oldest.limit = 1
        let first = try store.history(oldest).first?.token ?? store.head()
        let notice = SubscriptionReplies.notice(.historyPurged(first))
        state.withLock { $0.fanOut.tellAll(notice) }
        return [
            "transactions": .integer(Int64(report.transactions)),
            "changes": .integer(Int64(report.changes)), "token": .string(first.description),
        ]
    }
}
