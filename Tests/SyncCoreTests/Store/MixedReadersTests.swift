import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// Readers of every kind, in any order, beside writers that may close the file after each commit,
/// change its journal mode or its schema: what was told once is what every later reader finds.
///
/// `SYNCD_SEED=n` repeats one seed, `SYNCD_SEEDS=n` runs the first n.
@Suite("Mixed readers", .timeLimit(.minutes(30)))
struct MixedReadersTests {
    private static let seedCount: UInt64 = 30
    private static let commitsPerSeed = 40

    @Test func noReaderChangesWhatAnotherWasTold() throws {
        var restCount = 0
        for seed in TestSeed.first(Self.seedCount) {
            let run = try ReaderRun(seed: seed)
            do {
                try run.play(commits: Self.commitsPerSeed)
            } catch {
                Issue.record("\(seed): \(error)\n\(run.trail.joined(separator: "\n"))")
                return
            }
            restCount += run.restCount
        }
        print("mixed readers: \(restCount) rests")
    }
}

/// One seed: a store, its writers, its readers, and what was told.
private final class ReaderRun {
    private(set) var trail: [String] = []
    /// How often the daemon and the library closed their connections together.
    private(set) var restCount = 0
    private var random: SeededRandom
    private let folder: TemporaryFolder
    private let path: String
    private var isWAL: Bool
    private var indexes = 0
    private var writer: PlainConnection?
    private var daemon: (store: Store, journal: BoundaryJournal)?
    private var library: Store
    private var truth = CommitRecord()
    /// Where each reader that goes on has got to.
    private var position: [String: Token] = [:]
    private var tokens: [Token] = []

    init(seed: TestSeed) throws {
        random = seed.random
        folder = try TemporaryFolder()
        path = folder.file("store.db")
        isWAL = !random.once(in: 3)
        let mode = isWAL ? "WAL" : random.pick(["DELETE", "TRUNCATE", "PERSIST"])
        let connection = try PlainConnection(path)
        try connection.run("PRAGMA journal_mode = \(mode)")
        try connection.run("CREATE TABLE item(id INTEGER PRIMARY KEY, n)")
        connection.close()
        try Store.track(path, options: ["item": CaptureOptions(undo: random.once(in: 2))])
        trail.append(mode)
        library = try Store.open(path)
        let start = try library.head()
        for reader in ["daemon", "direct", "library"] { position[reader] = start }
        tokens = [start]
    }

    func play(commits count: Int) throws {
        for number in 0..<count {
            try commit(number)
            if random.once(in: 2) { closeWriter() }
            if random.once(in: 10) { try administer() }
            for _ in 0..<random.below(3) { try read() }
            if random.once(in: 12) { try reopenLibrary() }
        }
        closeWriter()
        try readDirectly()
        try pollLibrary()
        try startDaemon()
        try pollDaemon()
        try readAll()
        for (reader, token) in position where token.number != truth.end {
            throw ReaderMismatch("\(reader) ended at \(token.number), not \(truth.end)")
        }
    }

    // MARK: Writing

    private func commit(_ number: Int) throws {
        let connection = try writer ?? PlainConnection(path)
        writer = connection
        try commit(number, on: connection)
    }

    private func commit(_ number: Int, on connection: PlainConnection) throws {
        let author = random.once(in: 3) ? random.pick(["ann", "ben"]) : nil
        let isClosed = author != nil && random.once(in: 2)
        var (statements, objects) = truth.drawChanges(&random)
        if let author {
            statements.insert("INSERT INTO syncd_txn(author) VALUES ('\(author)')", at: 0)
        }
        if isClosed { statements.append("INSERT INTO syncd_txn(author) VALUES (NULL)") }
        try connection.run("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 5000")
        if !isWAL, random.once(in: 4) {
            // Of the connection, not of the file.
            let mode = random.pick(["MEMORY", "OFF", "DELETE", "TRUNCATE", "PERSIST"])
            try connection.run("PRAGMA journal_mode = \(mode)")
            trail.append("the writer's journal mode is \(mode)")
        }
        if random.once(in: 20) {
            indexes += 1
            let place = random.below(statements.count + (isClosed ? 0 : 1))
            statements.insert(
                random.pick([
                    "CREATE INDEX item_\(indexes) ON item(n)",
                    "CREATE TABLE other_\(indexes)(id INTEGER PRIMARY KEY, x)",
                ]), at: place)
        }
        try connection.run("BEGIN IMMEDIATE; \(statements.joined(separator: "; "))")
        let end = try connection.integer("SELECT max(seq) FROM syncd_log")
        try connection.run("COMMIT")
        truth.add(.init(end: end, author: author, objects: objects))
        trail.append("-- \(number) up to \(end): \(statements.joined(separator: "; "))")
    }

    private func closeWriter() {
        guard let writer else { return }
        trail.append("the writer closes")
        writer.close()
        self.writer = nil
    }

    // MARK: Administering

    /// What happens to a file that programs use.
    private func administer() throws {
        switch random.below(4) {
        case 0:
            trail.append("VACUUM")
            try withAdministrator { try $0.run("VACUUM") }
        case 1:
            trail.append("checkpoint")
            try withAdministrator { _ = try $0.rows("PRAGMA wal_checkpoint(TRUNCATE)") }
        default: try changeMode()
        }
    }

    /// Beside every reader; SQLite refuses to leave WAL mode while any connection has read the file.
    private func changeMode() throws {
        closeWriter()
        let modes = isWAL ? ["DELETE", "TRUNCATE", "PERSIST"] : ["WAL", "WAL", "DELETE"]
        let mode = random.pick(modes)
        let change = {
            try self.withAdministrator { connection in
                try? connection.run("PRAGMA journal_mode = \(mode)")
                self.isWAL = try connection.value("PRAGMA journal_mode") == .text("wal")
                self.trail.append("journal mode \(mode), WAL: \(self.isWAL)")
                // Back before any reader has seen it.
                guard self.isWAL, self.random.once(in: 3) else { return }
                if self.random.once(in: 2) { try self.commit(-1, on: connection) }
                try? connection.run("PRAGMA journal_mode = DELETE")
                self.isWAL = try connection.value("PRAGMA journal_mode") == .text("wal")
                self.trail.append("and back, WAL: \(self.isWAL)")
            }
        }
        guard isWAL, random.once(in: 2) else { return try change() }
        killDaemon()
        try reopenLibrary(after: change)
    }

    private func withAdministrator(_ body: (PlainConnection) throws -> Void) throws {
        closeWriter()
        let connection = try PlainConnection(path)
        defer { connection.close() }
        try connection.run("PRAGMA busy_timeout = 0; PRAGMA synchronous = OFF")
        try body(connection)
    }

    // MARK: Reading

    private func read() throws {
        switch random.below(13) {
        case 0, 1: try readDirectly()
        case 2: try readAfterOldToken()
        case 3: try readAll()
        case 4, 5: try pollLibrary()
        case 6: try startDaemon()
        case 7: killDaemon()
        case 8: try digestByDaemon()
        case 9 where random.once(in: 6): try readBehindWriter()
        case 10: try readPending()
        case 11: try rest()
        default: try pollDaemon()
        }
    }

    private func startDaemon() throws {
        guard daemon == nil else { return }
        let store = try Store.open(path)
        let journal = BoundaryJournal(directory: folder.path, of: store)
        try store.record(in: journal)
        trail.append("the daemon starts, \(journal.boundaries)")
        daemon = (store, journal)
        // A client that was away resumes with its token; what comes is sent as it happens.
        _ = try store.poll()
        try goOn("daemon") { try store.history($0) }
    }

    /// Its file stays; what it knew is gone.
    private func killDaemon() {
        guard let daemon else { return }
        trail.append("the daemon is killed")
        try? daemon.store.close()
        self.daemon = nil
    }

    private func pollDaemon() throws {
        guard let daemon else { return }
        try take(try daemon.store.poll().transactions, by: "daemon")
    }

    private func digestByDaemon() throws {
        guard let daemon else { return }
        try pollDaemon()
        trail.append("the daemon digests")
        let end = position["daemon"]?.number ?? 0
        if try !daemon.store.digest() { daemon.journal.forget(upTo: end) }
    }

    /// All that follow the log close their connections, until the next use: a writer that closes
    /// meanwhile deletes the WAL.
    private func rest() throws {
        try digestByDaemon()
        try library.emptyWal()
        let isDaemonAtRest = try daemon?.store.rest(idleFor: .zero) ?? false
        let isLibraryAtRest = try library.rest(idleFor: .zero)
        trail.append("rest: the daemon \(isDaemonAtRest), the library \(isLibraryAtRest)")
        if isDaemonAtRest, isLibraryAtRest { restCount += 1 }
    }

    private func pollLibrary() throws {
        let found = try library.poll()
        guard found.unsettled == nil else { throw ReaderMismatch("unsettled for no reason") }
        try take(found.transactions, by: "library")
    }

    private func reopenLibrary(after change: () throws -> Void = {}) throws {
        try pollLibrary()
        try library.close()
        try change()
        trail.append("the library is opened again")
        library = try Store.open(path)
        _ = try library.poll()
        try goOn("library") { try library.history($0) }
    }

    private func withDirect<Result>(_ body: (Store) throws -> Result) throws -> Result {
        let store = try Store.open(path)
        defer { try? store.close() }
        return try body(store)
    }

    private func readDirectly() throws {
        try withDirect { store in try goOn("direct") { try store.history($0) } }
    }

    private func goOn(_ reader: String, _ read: (HistoryQuery) throws -> [Transaction]) throws {
        var query = HistoryQuery()
        query.after = position[reader]
        try take(try read(query), by: reader)
    }

    private func take(_ transactions: [Transaction], by reader: String) throws {
        for transaction in transactions {
            trail.append("\(reader): \(transaction.number) \(transaction.flags.names)")
            try truth.check(transaction, after: position[reader]?.number ?? 0, by: reader)
            position[reader] = transaction.token
            tokens.append(transaction.token)
        }
    }

    private func readAfterOldToken() throws {
        let token = random.pick(tokens)
        let found = try withDirect { store in
            var query = HistoryQuery()
            query.after = token
            try store.check(token)
            return try store.history(query)
        }
        var end = token.number
        for transaction in found {
            try truth.check(transaction, after: end, by: "old token \(token.number)")
            end = transaction.number
        }
    }

    private func readAll() throws {
        let found = try withDirect { try $0.history() }
        var end: Int64 = 0
        for transaction in found {
            try truth.check(transaction, after: end, by: "new reader")
            end = transaction.number
        }
        let lost = truth.toldNumbers.subtracting(found.map(\.number))
        guard lost.isEmpty else { throw ReaderMismatch("\(lost) are gone from the history") }
        tokens += found.map(\.token)
    }

    /// Looking at what is pending gives no numbers, and makes nothing part of history.
    private func readPending() throws {
        let found = try withDirect { try $0.pendingChanges() }
        trail.append("\(found.count) pending")
        guard found.allSatisfy({ change in change.changes.allSatisfy { $0.entity == "item" } })
        else { throw ReaderMismatch("pending: \(found)") }
    }

    /// A reader that finds the file locked tells what is recorded, and the rest later.
    private func readBehindWriter() throws {
        let other = try PlainConnection(path)
        trail.append("beside a writer")
        try other.run("BEGIN IMMEDIATE")
        defer { other.close() }
        try withDirect { store in
            try goOn("direct") { try store.history($0) }
            let end = position["direct"]?.number ?? 0
            guard end == truth.end || store.unsettled != nil else {
                throw ReaderMismatch("told up to \(end) of \(truth.end), and nothing is unsettled")
            }
        }
    }
}

private struct ReaderMismatch: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// What the writers did, and what readers were told of it.
private struct CommitRecord {
    struct Commit {
        let end: Int64
        let author: String?
        let objects: Set<Int64>
    }

    private var commits: [Commit] = []
    private var told: [Int64: Transaction] = [:]
    private var live: Set<Int64> = []
    private var newest: Int64 = 0

    var end: Int64 { commits.last?.end ?? 0 }
    var toldNumbers: Set<Int64> { Set(told.keys) }

    /// Each object at most once in a commit, so that each is in the net changes.
    mutating func drawChanges(
        _ random: inout SeededRandom
    ) -> (statements: [String], objects: Set<Int64>) {
        var statements: [String] = []
        var objects: Set<Int64> = []
        for _ in 0...random.below(3) {
            let id = live.isEmpty || random.once(in: 2) ? nil : random.pick(live.sorted())
            guard let id, !objects.contains(id) else {
                newest += 1
                objects.insert(newest)
                live.insert(newest)
                statements.append("INSERT INTO item VALUES (\(newest), 0)")
                continue
            }
            objects.insert(id)
            if random.once(in: 2) {
                statements.append("UPDATE item SET n = n + 1 WHERE id = \(id)")
            } else {
                live.remove(id)
                statements.append("DELETE FROM item WHERE id = \(id)")
            }
        }
        return (statements, objects)
    }

    mutating func add(_ commit: Commit) { commits.append(commit) }

    /// - Parameter end: the number of the transaction that the reader was told before.
    mutating func check(_ transaction: Transaction, after end: Int64, by reader: String) throws {
        let number = transaction.number
        func mismatch(_ text: String) -> ReaderMismatch {
            ReaderMismatch("\(reader), \(number): \(text)")
        }
        guard transaction.first == end + 1 else {
            throw mismatch("begins at \(transaction.first), after \(end)")
        }
        let parts = commits.filter { $0.end >= transaction.first && $0.end <= number }
        guard parts.last?.end == number else { throw mismatch("is the end of no commit") }
        guard parts.count == 1 || transaction.flags.contains(.coalesced) else {
            throw mismatch("is \(parts.count) commits")
        }
        let objects = parts.reduce(into: Set()) { $0.formUnion($1.objects) }
        let found = Set(transaction.changes.map(\.object.key))
        guard found == Set(objects.map { ObjectKey([.integer($0)]) }) else {
            throw mismatch("tells \(transaction.summary), not \(objects)")
        }
        if let author = transaction.certainAuthor, parts.contains(where: { $0.author != author }) {
            throw mismatch("is said to be all by \(author)")
        }
        if transaction.author != parts.first?.author { throw mismatch("has a wrong author") }
        if let known = told[number], known != transaction {
            throw mismatch("was \(known), now \(transaction)")
        }
        told[number] = transaction
    }
}
