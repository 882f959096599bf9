import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// A number and a token are given only to a transaction whose end is recorded.
@Suite struct SettlingTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, n)") }

    private func direct<Result>(_ body: (Store) throws -> Result) throws -> Result {
        let store = try Store.open(database.path)
        defer { try? store.close() }
        return try body(store)
    }

    private func insert(_ id: Int) throws {
        try database.sql("INSERT INTO item VALUES (\(id), 0)")
    }

    /// What a daemon has found in a read that failed is in its journal before it is told.
    @Test(arguments: [true, false]) func aReadThatFailedLeavesNothingUnrecorded(isWAL: Bool) throws
    {
        if !isWAL { try database.sql("PRAGMA journal_mode = DELETE") }
        let store = try database.store()
        let folder = try TemporaryFolder()
        let journal = BoundaryJournal(directory: folder.path, of: store)
        try store.record(in: journal)
        try database.sql(
            """
            INSERT INTO syncd_entity(id, name, layout) VALUES (9, 'other', 'unreadable');
            INSERT INTO syncd_log(op, ts, pk) VALUES (9 * 8 + 1, julianday('now'), 1)
            """)
        for _ in 0..<2 { #expect(throws: SyncError.self) { try store.poll() } }
        try database.sql(
            """
            UPDATE syncd_entity SET layout = (SELECT layout FROM syncd_entity WHERE id = 1)
            WHERE id = 9
            """)
        let told = try store.poll().transactions
        #expect(told.map(\.summary) == ["insert other/1"])
        #expect(journal.boundaries.map(\.last) == told.map(\.number))
    }

    /// F2: a poll without a daemon, writers that close.
    @Test func pollsWithoutADaemonRepeatNothing() throws {
        try Store.track(database.path)
        var told: [Transaction] = []
        for id in 1...3 {
            try insert(id)
            try database.reopen()
            var query = HistoryQuery()
            query.after = told.last?.token
            told += try direct { try $0.history(query) }
        }
        #expect(told.map(\.summary) == ["insert item/1", "insert item/2", "insert item/3"])
        #expect(try direct { try $0.history() } == told)
        var query = HistoryQuery()
        query.after = told.first?.token
        #expect(try direct { try $0.history(query) } == Array(told.dropFirst()))
        #expect(try direct { try $0.status().logRows } == 0)
    }

    /// D10.
    @Test func numbersWithoutADaemonStay() throws {
        try Store.track(database.path)
        try insert(1)
        let first = try #require(try direct { try $0.history().first })
        try database.reopen()
        try insert(2)
        #expect(try direct { try $0.transaction(first.number) } == first)
        _ = try direct { try $0.revert(first.number) }
        #expect(try database.rows("SELECT id FROM item") == [[2]])
    }

    /// D2: begin markers alone, no daemon.
    @Test(arguments: [true, false])
    func authorsOfWritersThatDoNotEndTheirMarkersAreKept(isWAL: Bool) throws {
        if !isWAL { try database.sql("PRAGMA journal_mode = DELETE") }
        try Store.track(database.path)
        for (id, author) in ["ann", "ben"].enumerated() {
            try database.sql(
                """
                BEGIN; INSERT INTO syncd_txn(author, context, pid) VALUES ('\(author)', 'c', 7);
                INSERT INTO item VALUES (\(id), 0); COMMIT
                """)
            try database.reopen()
        }
        let history = try direct { try $0.history() }
        #expect(history.map(\.author) == ["ann", "ben"])
        #expect(history.map(\.context) == ["c", "c"])
        #expect(history.allSatisfy { $0.flags == [.coalesced, .authorUncertain] })
        var query = HistoryQuery()
        query.authors = ["ann"]
        #expect(try direct { try $0.history(query) } == [])
        query.authors = []
        query.excludedAuthors = ["ann"]
        #expect(try direct { try $0.history(query) } == history)
    }

    @Test func whatCannotBeSettledIsNotToldAndComesOnce() throws {
        let store = try database.store()
        try insert(1)
        let other = try PlainConnection(database.path)
        try other.run("BEGIN IMMEDIATE")
        let look = try store.poll()
        #expect(look.transactions.isEmpty)
        #expect(look.unsettled?.count == 1 && look.unsettled?.isTransient == true)
        #expect(try store.count().transactions == 0)
        #expect(store.unsettled?.count == 1)
        #expect(try store.pendingChanges().map(\.changes.count) == [1])
        try other.run("ROLLBACK")
        #expect(try store.poll().transactions.map(\.summary) == ["insert item/1"])
        #expect(try store.poll().transactions.isEmpty)
        #expect(store.unsettled == nil)
        #expect(try store.pendingChanges().isEmpty)
    }

    // MARK: Journals of daemons

    /// A daemon tells three commits one by one and is killed; the WAL goes with the last writer.
    private func toldByADaemon(in folder: String) throws -> [Transaction] {
        let daemon = try database.store()
        let journal = BoundaryJournal(directory: folder, of: daemon)
        try daemon.record(in: journal)
        for id in 1...3 { try insert(id) }
        let told = try daemon.poll().transactions
        try daemon.close()
        try database.reopen()
        return told
    }

    @Test func whatADaemonToldIsNotPutTogether() throws {
        let told = try toldByADaemon(in: database.folder.path)
        #expect(told.count == 3)
        try insert(4)
        try database.reopen()
        let history = try direct { try $0.history() }
        #expect(Array(history.prefix(3)) == told)
        #expect(history.map(\.summary).last == "insert item/4")
    }

    @Test func rowsOfADaemonWhoseJournalCannotBeReadStayPending() throws {
        _ = try toldByADaemon(in: database.folder.path)
        let journal = try #require(
            FileManager.default.contentsOfDirectory(atPath: database.folder.path)
                .first { $0.hasSuffix(".boundaries") })
        let path = database.folder.file(journal)
        // A test may run as root, who may read everything but this.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: path + ".moved")
        try direct { store in
            #expect(try store.history() == [])
            let unsettled = try #require(store.unsettled)
            #expect(unsettled.count == 3 && !unsettled.isTransient)
            #expect(unsettled.hint.contains("--direct"))
            #expect(try store.pendingChanges().flatMap(\.changes).count == 3)
        }
        // Gone for good: nothing was told beyond the history tables.
        try FileManager.default.removeItem(atPath: path)
        #expect(try direct { try $0.history().flatMap(\.changes).count } == 3)
    }

    /// Its journal is lost, too: what comes is what its readers do not have, all of it.
    @Test(arguments: [true, false])
    func aTokenInsideACoalescedTransactionGetsWhatIsLater(isDigested: Bool) throws {
        let daemon = try database.store()
        let journal = BoundaryJournal(directory: database.folder.path, of: daemon)
        try daemon.record(in: journal)
        try insert(1)
        try insert(2)
        let token = try #require(try daemon.poll().transactions.last?.token)
        try database.sql("UPDATE item SET n = 5 WHERE id = 1")
        try insert(3)
        try daemon.close()
        journal.remove()
        try database.reopen()
        try direct { store in
            var query = HistoryQuery()
            query.after = token
            let rest: [Transaction]
            if isDigested {
                rest = try store.history(query)
            } else {
                let boundaries = try store.live.withState { _, live in try live.pendingBoundaries()
                }
                rest = try store.reading.read { reader in
                    var found: [Transaction] = []
                    try HistoryScan(reader, boundaries: boundaries).run(query) {
                        found.append($0)
                        return true
                    }
                    return found
                }
            }
            #expect(rest.count == 1 && rest.first?.flags == .coalesced)
            #expect(rest.flatMap(\.changes).map(\.object.path) == ["item/1", "item/3"])
            query.after = try store.head()
            #expect(try store.history(query) == [])
        }
    }

    /// A daemon that has found a commit and not recorded it yet may tell it with other ends.
    @Test(arguments: [true, false])
    func aReaderDigestsNothingWhileADaemonRecords(isWAL: Bool) throws {
        if !isWAL { try database.sql("PRAGMA journal_mode = DELETE") }
        let daemon = try database.store()
        let journal = BoundaryJournal(directory: database.folder.path, of: daemon)
        try daemon.record(in: journal)
        try insert(1)
        let told = try daemon.poll().transactions
        try insert(2)
        let lock = try LockedFile(journal.path)
        try direct { store in
            let history = try store.history()
            #expect(history == told)
            #expect(store.unsettled?.count == 1 && store.unsettled?.isTransient == true)
        }
        lock.release()
        try direct { store in
            let history = try store.history()
            #expect(history.map(\.summary) == ["insert item/1", "insert item/2"])
            #expect(store.unsettled == nil)
        }
    }

    /// A reader that digests has decided what the ends are: a daemon waits for it, but not for one
    /// that was stopped.
    @Test func aDaemonWaitsForAReaderThatDigests() throws {
        let daemon = try database.store()
        let journal = BoundaryJournal(directory: database.folder.path, of: daemon)
        try daemon.record(in: journal)
        try insert(1)
        let lock = try LockedFile(journal.path)
        defer { lock.release() }
        let start = ContinuousClock.now
        #expect(try daemon.poll().transactions.count == 1)
        #expect(ContinuousClock.now - start >= FileLock.recorderWait)
    }

    /// The ends that the WAL has are not taken where others were told.
    @Test func whatWasToldAsOneTransactionStaysOne() throws {
        let first = try database.store()
        let journal = BoundaryJournal(directory: database.folder.path, of: first)
        try first.record(in: journal)
        try insert(1)
        try insert(2)
        #expect(journal.append([Boundary(last: 2, isExact: false)]))
        let second = try Store.open(database.path)
        try second.record(in: BoundaryJournal(directory: database.folder.path, of: second))
        try insert(3)
        let told = try second.poll().transactions
        let history = try second.history()
        try second.close()
        #expect(history.map(\.number) == [2, 3], "\(told.map(\.number))")
        #expect(history.first?.flags == .coalesced)
        try first.close()
        #expect(try direct { try $0.history() } == history)
    }

    /// The lock of a journal, as another process holds it.
    private struct LockedFile {
        private let descriptor: Int32

        init(_ path: String) throws {
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            try #require(FileLock.take(descriptor, waitingFor: .zero))
        }

        func release() { close(descriptor) }
    }

    @Test func namesOfJournalsThatAreGoneAreDropped() throws {
        let store = try database.store()
        let first = try TemporaryFolder()
        let second = try TemporaryFolder()
        let journal = BoundaryJournal(directory: first.path, of: store)
        try store.record(in: journal)
        #expect(try names() == [first.file(journalName(store))])
        journal.remove()
        try store.record(in: BoundaryJournal(directory: second.path, of: store))
        #expect(try names() == [second.file(journalName(store))])
    }

    private func journalName(_ store: Store) -> String {
        BoundaryJournal.name(replica: store.replica, epoch: store.epoch)
    }

    private func names() throws -> [String] {
        let rows = try database.rows("SELECT value FROM syncd_meta WHERE key = 'journals'")
        guard case .text(let text) = rows.first?.first else { return [] }
        return text.split(separator: "\n").map(String.init)
    }

    /// A power failure leaves an older state of the file, and the journal.
    @Test(arguments: [true, false])
    func toldCommitsThatAreTakenBackBeginAnEpoch(byDaemon: Bool) throws {
        let folder = database.folder.path
        let store = try database.store()
        try store.record(in: BoundaryJournal(directory: folder, of: store))
        try insert(1)
        let kept = try #require(try store.poll().transactions.last)
        _ = try store.digest()
        try database.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        let file = URL(fileURLWithPath: database.path)
        let before = try Data(contentsOf: file)
        try insert(2)
        let lost = try #require(try store.poll().transactions.last)
        try store.close()
        try database.reopen()
        try database.sql("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
        // The same file with the contents of before.
        let handle = try FileHandle(forUpdating: file)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: before)
        try handle.close()
        try database.reopen()
        let after = try Store.open(
            database.path, isResolved: false, journalsIn: byDaemon ? folder : nil)
        #expect(after.epoch == store.epoch + 1)
        #expect(throws: SyncError(.foreignHistory, "")) { try after.check(lost.token) }
        #expect(throws: SyncError(.foreignHistory, "")) { try after.check(kept.token) }
        try insert(3)
        #expect(try after.history().map(\.summary) == ["insert item/1", "insert item/3"])
        try after.close()
        #expect(try direct { $0.epoch } == store.epoch + 1, "once")
    }

    // MARK: Digesting beside others

    @Test func changesThatAnInterruptedDigestLeftAreNotTold() throws {
        try Store.track(database.path)
        try database.sql("INSERT INTO syncd_txn(author) VALUES ('ann')")
        try insert(1)
        // Where the marker has its row, no change has.
        try database.sql(
            "INSERT INTO syncd_change(seq, op, key) SELECT 1, id * 8 + 3, 99 FROM syncd_entity")
        try database.reopen()
        #expect(try direct { try $0.history().map(\.summary) } == ["insert item/1"])
    }

    @Test func twoProcessesDigestOneLogOnce() throws {
        let store = try database.store()
        for id in 1...4 { try insert(id) }
        let boundaries = try store.live.withState { _, live in try live.pendingBoundaries() }
        let coarse = [Boundary(last: try #require(boundaries.last?.last), isExact: false)]
        let (first, second) = (boundaries.prefix(2), coarse)
        // The one has digested two commits when the other, which knows less, comes to write.
        let end = try store.live.withState { _, live in
            let digester = try live.prepareDigestion().digester
            _ = try digester.digest(Array(first), while: { true })
            return try digester.digest(second, while: { true })
        }
        #expect(end == coarse[0].last)
        let history = try store.history()
        #expect(history.map(\.changes.count) == [1, 1, 2])
    }

    // MARK: The log

    @Test(arguments: ["DELETE FROM syncd_log", "DELETE FROM syncd_log WHERE seq > 1"])
    func aLogThatWasEmptiedIsRepaired(deletion: String) throws {
        let store = try database.store()
        try insert(1)
        try insert(2)
        let token = try store.head()
        while try store.digest() {}
        try store.close()
        try database.sql(deletion)
        #expect(throws: SyncError(.storeDamaged, "")) { try Store.open(self.database.path) }
        try insert(3)
        #expect(throws: SyncError(.storeDamaged, "")) { try Store.open(self.database.path) }
        let report = try Store.mend(database.path)
        #expect(report.isLogCut && report.losses.contains(.log))
        #expect(!report.explanations.isEmpty)
        try direct { store in
            #expect(throws: SyncError(.foreignHistory, "")) { try store.check(token) }
            let history = try store.history()
            #expect(history.last?.flags.contains(.recovered) == true)
            #expect(history.last?.changes.map(\.object.path) == ["item/3"])
            #expect(try #require(history.last).number > token.number)
        }
        try insert(4)
        #expect(try direct { try $0.history().last?.summary } == "insert item/4")
    }

    /// Writers went on before anything looked: the log is longer than it was, or as long.
    @Test(arguments: [
        "DELETE FROM syncd_log",
        "DELETE FROM syncd_log WHERE seq <> (SELECT max(seq) FROM syncd_log)",
        "DELETE FROM syncd_log WHERE seq = (SELECT max(seq) - 1 FROM syncd_log)",
        "DELETE FROM syncd_log; INSERT INTO syncd_log(seq, op, m) VALUES (2000, 0, 1)",
    ])
    func aLogThatWasEmptiedAndFilledAgainIsRepaired(deletion: String) throws {
        let store = try database.store()
        for id in 1...3 { try insert(id) }
        let token = try store.head()
        while try store.digest() {}
        try store.close()
        for id in 4...6 { try insert(id) }
        try database.sql(deletion)
        for id in 7...10 { try insert(id) }
        #expect(throws: SyncError(.storeDamaged, "")) { try Store.open(self.database.path) }
        let report = try Store.mend(database.path)
        #expect(report.isLogCut && report.losses.contains(.log))
        try direct { store in
            #expect(throws: SyncError(.foreignHistory, "")) { try store.check(token) }
            let history = try store.history()
            let objects = history.flatMap(\.changes).map(\.object.path)
            #expect(objects == (1...10).map { "item/\($0)" })
            #expect(history.last?.flags.contains(.recovered) == true)
        }
        #expect(try Store.mend(database.path).explanations.isEmpty)
        try insert(11)
        #expect(try direct { try $0.history().last?.summary } == "insert item/11")
    }

    /// One that is open has read rows of the former log.
    @Test(arguments: [true, false])
    func aLogThatIsFilledAgainIsNotReadOn(isDigested: Bool) throws {
        let store = try database.store()
        defer { try? store.close() }
        for id in 1...3 { try insert(id) }
        if isDigested { while try store.digest() {} }
        _ = try store.poll()
        try database.sql("BEGIN; DELETE FROM syncd_log WHERE seq > 0")
        for id in 4...9 { try insert(id) }
        try database.sql("COMMIT")
        #expect(throws: SyncError.self) { try store.poll() }
        #expect(throws: SyncError(.storeDamaged, "")) { try Store.open(self.database.path) }
    }
}
