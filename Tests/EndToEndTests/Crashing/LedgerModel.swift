import Foundation
import Testing

/// What the ledger has to be if history is true: kept up with history alone, compared with the data.
struct LedgerModel {
    struct Mismatch: Error, CustomStringConvertible {
        var description: String
    }

    /// The objects that are there.
    private var objects: Set<String> = ["counter/shell", "counter/python"]
    private var counts: [String: Int] = ["shell": 0, "python": 0]
    private var last: Int64 = 0
    private(set) var commits = 0

    /// - Throws: ``Mismatch`` when something comes twice, out of order, in part or not at all.
    mutating func apply(_ transaction: Recorded) throws {
        guard transaction.number > last else {
            throw Mismatch(description: "\(transaction.number) comes after \(last)")
        }
        last = transaction.number
        commits += 1
        for change in transaction.changes { try apply(change, transaction) }
        try checkWhole(transaction)
    }

    private mutating func apply(_ change: Recorded.Change, _ transaction: Recorded) throws {
        let isThere = objects.contains(change.object)
        switch change.kind {
        case "insert":
            guard !isThere else { throw mismatch("inserted twice", change, transaction) }
            objects.insert(change.object)
            try count(change, transaction)
        case "delete":
            guard isThere else { throw mismatch("deleted, but not there", change, transaction) }
            guard change.tombstone != nil else {
                throw mismatch("deleted without a tombstone", change, transaction)
            }
            objects.remove(change.object)
        default:
            guard isThere else { throw mismatch("updated, but not there", change, transaction) }
        }
    }

    /// Entries are numbered without a gap.
    private mutating func count(_ change: Recorded.Change, _ transaction: Recorded) throws {
        let parts = change.object.split(separator: "/")
        guard parts.count == 2, parts[0] == "entry" else { return }
        let name = parts[1].split(separator: ",")
        guard name.count == 2, let n = Int(name[1]), let count = counts[String(name[0])] else {
            throw mismatch("unknown", change, transaction)
        }
        guard n == count + 1 else {
            throw mismatch("comes after \(count)", change, transaction)
        }
        counts[String(name[0])] = n
    }

    /// A part of a commit is never a transaction.
    private func checkWhole(_ transaction: Recorded) throws {
        let changes = transaction.changes
        let bulk = changes.count { $0.kind == "insert" && $0.object.hasPrefix("bulk/") }
        guard bulk.isMultiple(of: LedgerWriters.bulkRows) else {
            throw Mismatch(description: "\(transaction.number) has \(bulk) rows of a bulk")
        }
        for writer in counts.keys {
            let hasCounted = changes.contains { $0.object == "counter/\(writer)" }
            let hasEntry = changes.contains {
                $0.kind == "insert" && $0.object.hasPrefix("entry/\(writer),")
            }
            guard hasCounted == hasEntry else {
                throw Mismatch(description: "\(transaction.number) is a part of a commit")
            }
        }
    }

    private func mismatch(
        _ what: String, _ change: Recorded.Change, _ transaction: Recorded
    ) -> Mismatch {
        Mismatch(description: "\(change.object) in \(transaction.number): \(what)")
    }

    /// Compares with the data: the objects that are there, and how far each writer came.
    func check(_ scene: Scene, _ database: String) async throws {
        let text = try await scene.sql(
            database,
            """
            SELECT 'counter/' || w FROM counter UNION ALL SELECT 'entry/' || w || ',' || n FROM entry
            UNION ALL SELECT 'bulk/' || id FROM bulk UNION ALL SELECT 'n ' || w || ' ' || n FROM counter
            """)
        var now: Set<String> = []
        for line in text.split(separator: "\n").map(String.init) {
            let parts = line.split(separator: " ")
            if parts.count == 3 {
                let writer = String(parts[1])
                guard counts[writer] == Int(parts[2]) else {
                    throw Mismatch(
                        description: "history has \(counts[writer] ?? 0) commits of \(writer), "
                            + "the data \(parts[2])")
                }
            } else {
                now.insert(line)
            }
        }
        guard now == objects else {
            throw Mismatch(
                description: "only in the data: \(now.subtracting(objects).sorted().prefix(5)), "
                    + "only in history: \(objects.subtracting(now).sorted().prefix(5))")
        }
    }
}
