import SyncCore
import SyncStorage
import SyncValues

/// The local transactions that are not recorded as facts yet, read from the history tables; one
/// that is several commits in parts (``CoalescedParts``).
struct UnrecordedTransactions {
    /// A transaction as the tables have it, or a part of one.
    struct Entry {
        var number: Int64
        /// The first number that is free for it.
        let first: Int64
        var time: Timestamp
        /// The time of the whole transaction.
        let end: Timestamp
        let author: String?
        let context: String?
        let process: Transaction.Process?
        let flags: Transaction.Flags
        let isLocal: Bool
        var changes: [NetChange]

        /// The time of a write.
        func time(_ ageMilliseconds: Int64) -> Timestamp {
            Timestamp(milliseconds: max(0, end.milliseconds - ageMilliseconds))
        }
    }

    private let catalog: EntityCatalog
    private let selectHeaders: Statement
    private let selectChanges: Statement

    init(_ connection: OpaquePointer, catalog: EntityCatalog) throws {
        self.catalog = catalog
        selectHeaders = try Statement(
            """
            SELECT t.number, t.first, t.time, t.pid, t.flags, t.origin IS NULL,
              w.author, w.context, w.process
            FROM syncd_transaction t LEFT JOIN syncd_who w ON w.id = t.who
            WHERE t.number > ?1 ORDER BY t.number
            """, on: connection)
        selectChanges = try Statement(
            """
            SELECT seq, op, key, data FROM syncd_change
            WHERE seq >= ?1 AND seq <= ?2 ORDER BY seq
            """, on: connection)
    }

    /// The transactions after a number, in order.
    /// - Throws: SQLite errors; `corrupt`, `badData` for changes that cannot be read.
    /// - Complexity: O(changes after the number)
    func entries(after number: Int64) throws -> [Entry] {
        selectHeaders.bind(number, at: 1)
        defer { selectHeaders.reset() }
        var entries: [Entry] = []
        while try selectHeaders.step() {
            let flags = Transaction.Flags(rawValue: Int(selectHeaders.integer(4)))
            let isLocal =
                selectHeaders.integer(5) != 0 && flags.isDisjoint(with: [.remote, .repair])
            let process = selectHeaders.text(8)
            let time = Timestamp(milliseconds: selectHeaders.integer(2))
            entries += CoalescedParts.of(
                Entry(
                    number: selectHeaders.integer(0), first: selectHeaders.integer(1),
                    time: time, end: time,
                    author: selectHeaders.text(6), context: selectHeaders.text(7),
                    process: selectHeaders.integerOrNil(3).map { .init(pid: $0, name: process) },
                    flags: flags, isLocal: isLocal,
                    changes: isLocal
                        ? try changes(
                            from: selectHeaders.integer(1), upTo: selectHeaders.integer(0)) : []))
        }
        return entries
    }

    private func changes(from first: Int64, upTo last: Int64) throws -> [NetChange] {
        selectChanges.bind(first, at: 1)
        selectChanges.bind(last, at: 2)
        defer { selectChanges.reset() }
        var changes: [NetChange] = []
        while try selectChanges.step() {
            let op = selectChanges.integer(1)
            guard let kind = Change.Kind(rawValue: Int(op & 7)),
                let entity = try catalog.entity(op >> 3)
            else { continue }
            changes.append(
                try NetChange(
                    seq: selectChanges.integer(0), entity: entity, kind: kind,
                    key: selectChanges.value(2), data: selectChanges.blob(3)))
        }
        return changes
    }
}
