import Foundation
import GRDB
import SyncCore

/// One run of everything on files of its own.
struct Round {
    static let names = [
        "extract", "apply to an empty store", "apply, remote wins", "apply, remote loses",
    ]

    private let folder: String
    private let rows: Int
    private(set) var batchBytes = 0

    private static let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, body TEXT, rank INTEGER, price REAL);
        CREATE INDEX item_rank ON item(rank);
        """

    init(folder: String, rows: Int) throws {
        self.folder = folder
        self.rows = rows
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// Seconds by name, ours and plain SQL's.
    mutating func run() throws -> [(String, (ours: Double, plain: Double))] {
        var figures: [(String, (ours: Double, plain: Double))] = []
        let source = try tracked("source.db")
        let copy = try StoreReplica.clone(
            at: folder + "/copy.db", from: try source.replica.export())
        let start = try copy.position()
        try source.queue.fill(rows, text: "first")
        try source.replica.state()

        var batches: [[UInt8]] = []
        let extract = try seconds { batches = try source.replica.export(after: start) }
        let read = try seconds { try source.queue.readAll() }
        figures.append(("extract", (extract, read)))
        batchBytes = batches.reduce(0) { $0 + $1.count }

        let apply = try seconds { try copy.absorbAll(batches) }
        let plain = try database("plain.db")
        figures.append(
            ("apply to an empty store", (apply, try seconds { try plain.upsert(rows, "first") })))

        // Remote wins: the copy edits first, the source after it.
        let copyQueue = try DatabaseQueue(path: folder + "/copy.db")
        try copyQueue.edit("older")
        try copy.state()
        Thread.sleep(forTimeInterval: 0.02)
        let before = try copy.position()
        try source.queue.edit("newer")
        try source.replica.state()
        let newer = try source.replica.export(after: before)
        let wins = try seconds { try copy.absorbAll(newer) }
        let update = try seconds { try plain.upsert(rows, "newer") }
        figures.append(("apply, remote wins", (wins, update)))

        // Remote loses: what the copy wrote arrives at the source, which has newer values.
        let older = try copy.export(after: try source.replica.position())
        let loses = try seconds { try source.replica.absorbAll(older) }
        figures.append(("apply, remote loses", (loses, update)))
        try copy.close()
        try source.replica.close()
        return figures
    }

    private func database(_ name: String) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(path: folder + "/" + name)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            try database.execute(sql: Self.schema)
        }
        return queue
    }

    private func tracked(_ name: String) throws -> (queue: DatabaseQueue, replica: StoreReplica) {
        let queue = try database(name)
        try Store.track(folder + "/" + name)
        return (queue, try StoreReplica(folder + "/" + name))
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .seconds(1)
    }
}

extension StoreReplica {
    /// Merges all batches.
    func absorbAll(_ batches: [[UInt8]]) throws {
        for batch in batches { precondition(try absorb(batch), "batches come in order") }
    }

    /// States what writers have committed, so that it is not measured with what follows.
    func state() throws { _ = try position() }
}

extension DatabaseQueue {
    private static let transactionRows = 1000

    /// Inserts rows as a program would.
    func fill(_ rows: Int, text: String) throws { try upsert(rows, text) }

    /// Writes all rows by their key, a thousand in a transaction.
    func upsert(_ rows: Int, _ text: String) throws {
        for first in stride(from: 1, through: rows, by: Self.transactionRows) {
            try write { database in
                let statement = try database.cachedStatement(
                    sql: """
                        INSERT INTO item(id, title, body, rank, price) VALUES (?, ?, ?, ?, ?)
                        ON CONFLICT(id) DO UPDATE SET title = excluded.title
                        """)
                for id in first..<min(first + Self.transactionRows, rows + 1) {
                    try statement.execute(arguments: [
                        id, "\(text) title of \(id)",
                        "some words that make a row of a hundred and sixty bytes or so, number \(id)",
                        id % 1000, Double(id) / 7,
                    ])
                }
            }
        }
    }

    /// Edits one column of all rows.
    func edit(_ text: String) throws {
        try write { try $0.execute(sql: "UPDATE item SET title = '\(text) title of ' || id") }
    }

    /// Reads all rows.
    func readAll() throws {
        try read { database in
            let rows = try Row.fetchCursor(database, sql: "SELECT * FROM item")
            while let row = try rows.next() { _ = row["title"] as String? }
        }
    }
}
