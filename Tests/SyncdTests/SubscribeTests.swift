import Foundation
import SyncClient
import SyncCore
import SyncMerge
import SyncReplica
import SyncTesting
import Synchronization
import Testing

/// Each transaction once, in order, whatever happens to daemon and client.
@Suite(.timeLimit(.minutes(3))) struct SubscribeTests {
    private typealias Notices = Collector

    @Test func tellsWhoChangedWhatAtOnce() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        let seen = Notices(daemon.client.subscribe(store))
        try await seen.begun()
        try sqlite3(
            store,
            """
            BEGIN; INSERT INTO syncd_txn(author, context, pid) VALUES ('importer', 'nightly', 7);
            UPDATE Album SET Title = 'New' WHERE AlbumId = 2; DELETE FROM Album WHERE AlbumId = 3;
            COMMIT;
            """)
        try await eventually("the transaction") { seen.transactions.count == 1 }
        let transaction = try #require(seen.transactions.first)
        #expect(transaction.author == "importer" && transaction.context == "nightly")
        #expect(transaction.process?.pid == 7)
        #expect(transaction.changes.map(\.object.path) == ["Album/2", "Album/3"])
        #expect(transaction.changes[0].properties == ["Title"])
        #expect(transaction.changes[1].tombstone?["Title"] == .text("Title 3"))
        #expect(try await daemon.client.history(store).last?.token == transaction.token)
    }

    @Test func filtersChooseChanges() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        var options = SubscriptionOptions()
        options.filter.entities = ["artist"]
        options.filter.kinds = [.insert]
        let seen = Notices(daemon.client.subscribe(store, options: options))
        let all = Notices(daemon.client.subscribe(store))
        try await seen.begun()
        try await all.begun()
        try sqlite3(store, "UPDATE Album SET Title = 'x'; UPDATE Artist SET Name = 'y';")
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('z'); DELETE FROM Album;")
        try await eventually("both") { all.transactions.count == 4 && seen.transactions.count == 1 }
        #expect(seen.transactions[0].changes.map(\.object.path) == ["Artist/2"])
    }

    @Test func goesOnAfterATokenWithWhatWasMissed() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let start = try await daemon.client.head(store)
        for index in 0..<450 { try sqlite3(store, "INSERT INTO Artist(Name) VALUES (\(index))") }
        let seen = Notices(daemon.client.subscribe(store, after: start))
        try await eventually("what was missed") { seen.transactions.count == 450 }
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('live')")
        try await eventually("what happens") { seen.transactions.count == 451 }
        seen.expectAscending()
    }

    @Test func nothingMissingNothingTwiceThroughKills() async throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let start = try await daemon.client.head(store)
        let steady = Notices(daemon.client.subscribe(store, after: start))
        var restless = Notices(daemon.client.subscribe(store, after: start))
        var restlessSeen: [Transaction] = []
        let writer = try Writer(store, commits: 3000)
        while writer.isRunning {
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...250, using: &random)))
            if random.once(in: 3) {
                let taken = restless.stop()
                restlessSeen += taken
                let last = restlessSeen.last?.token ?? start
                restless = Notices(daemon.client.subscribe(store, after: last))
            } else {
                daemon.kill9()
                try await daemon.start()
            }
        }
        #expect(writer.status() == 0)
        let numbers = try sqlite3(store, "SELECT count(*) FROM Artist WHERE Name LIKE 'w%'")
        #expect(numbers == "3000")
        var query = HistoryQuery()
        query.after = start
        let expected = try await daemon.client.history(store, matching: query)
        let objects = expected.flatMap(\.changes).map(\.object.path)
        #expect(Set(objects).count == 3000 && objects.count == 3000)
        do {
            try await eventually("everything arrives", seconds: 20) {
                steady.objects.count >= 3000
                    && restlessSeen.flatMap(\.changes).count + restless.objects.count >= 3000
            }
        } catch {
            let count = restlessSeen.flatMap(\.changes).count
            Issue.record(
                """
                \(seed): steady \(steady.objects.count) \(steady.error.map { "\($0)" } ?? "") at \
                \(steady.transactions.last?.number ?? 0), restless \(count) + \(restless.objects.count) \
                \(restless.error.map { "\($0)" } ?? ""), history \(expected.count); \(daemon.log.suffix(600))
                """)
        }
        let restlessObjects = (restlessSeen + restless.transactions).flatMap(\.changes)
        #expect(steady.objects == objects, "\(seed)")
        #expect(restlessObjects.map(\.object.path) == objects, "\(seed)")
        #expect(steady.error == nil && restless.error == nil)
        steady.expectAscending()
    }

    @Test func aLaggingReaderIsToldAndLosesNothing() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 500)
        let gate = Gate()
        let slow = Notices(daemon.client.subscribe(store), gate: gate)
        try await slow.begun()
        let quick = Notices(daemon.client.subscribe(store))
        try await quick.begun()
        // More than client, sockets and the daemon's queue hold together: some 30 MB. In parts,
        // each small enough to be told live.
        let rounds = 405
        for part in 0..<27 {
            let updates = (0..<15).map { "UPDATE Album SET Title = 'round \(part) \($0)';" }
            try sqlite3(store, updates.joined(separator: "\n"))
            try await eventually("the quick one") {
                quick.transactions.count == (part + 1) * 15
            }
        }
        gate.open()
        try await eventually("all of it") { slow.transactions.count >= rounds }
        #expect(slow.has { if case .lagged = $0 { true } else { false } })
        #expect(slow.transactions.count == rounds)
        #expect(slow.transactions.allSatisfy { $0.changes.count == 500 })
        slow.expectAscending()
    }

    @Test func aHugeCommitArrivesWholeAndInOrder() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 30_000)
        let seen = Notices(daemon.client.subscribe(store))
        try await seen.begun()
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('before')")
        try sqlite3(store, "UPDATE Album SET Title = 'x'")
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('after')")
        try await eventually("three transactions") { seen.transactions.count == 3 }
        #expect(seen.transactions.map(\.changes.count) == [1, 30_000, 1])
        seen.expectAscending()
    }

    @Test func ownTransactionsCanBeLeftOut() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        var options = SubscriptionOptions()
        options.excludesOwn = true
        let seen = Notices(daemon.client.subscribe(store, options: options))
        try await seen.begun()
        let own = ProcessInfo.processInfo.processIdentifier
        for pid in [own, own + 1] {
            try sqlite3(
                store,
                "BEGIN; INSERT INTO syncd_txn(author, pid) VALUES ('a', \(pid)); "
                    + "INSERT INTO Artist(Name) VALUES ('\(pid)'); COMMIT;")
        }
        try await eventually("the other's") { !seen.transactions.isEmpty }
        #expect(seen.transactions.map(\.process?.pid) == [Int64(own + 1)])
    }
}

/// What happens to the store itself.
@Suite(.timeLimit(.minutes(3))) struct StoreNoticeTests {
    @Test func heldObjectsGoChangeAndComeBack() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        let subscription = daemon.client.subscribe(store)
        let seen = Collector(subscription)
        try await seen.begun()
        let names = try ["Album/2", "album/3", "Album/99"].map {
            try ObjectName(path: $0)
        }
        let held = try await subscription.hold(names)
        #expect(held.map(\.isPresent) == [true, true, false])
        try sqlite3(store, "UPDATE Album SET Title = 'New' WHERE AlbumId IN (1, 2)")
        try sqlite3(store, "PRAGMA foreign_keys = ON; DELETE FROM Artist WHERE ArtistId = 1")
        try sqlite3(store, "INSERT INTO Album(AlbumId, Title) VALUES (3, 'Again')")
        try await eventually("held notices") { seen.heldNotices.count >= 4 }
        let texts = seen.heldNotices
        #expect(texts[0] == "changed Album/2 [\"Title\"]")
        #expect(Set(texts[1...2]) == ["gone Album/2 cascade", "gone Album/3 cascade"])
        #expect(texts[3] == "replaced Album/3")
        try await subscription.release([names[0]])
        try sqlite3(store, "INSERT INTO Album(AlbumId, Title) VALUES (2, 'Again')")
        try sqlite3(store, "DELETE FROM Album WHERE AlbumId = 3")
        try await eventually("the last one") { seen.heldNotices.count >= 5 }
        #expect(seen.heldNotices[4] == "gone Album/3 direct")
    }

    @Test func holdsSurviveARestartOfTheDaemon() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        var options = SubscriptionOptions()
        options.hold = [try .init(path: "Album/1")]
        let seen = Collector(daemon.client.subscribe(store, options: options))
        try await seen.begun()
        daemon.kill9()
        try sqlite3(store, "DELETE FROM Album WHERE AlbumId = 1")
        try await daemon.start()
        try await eventually("gone") { seen.heldNotices == ["gone Album/1 direct"] }
    }

    @Test func aRemovedFileThatReturnsIsTheSame() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try sqlite3(store, "PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.moveItem(atPath: store, toPath: store + ".away")
        try await eventually("removed") {
            seen.has { if case .storeRemoved = $0 { true } else { false } }
        }
        try FileManager.default.moveItem(atPath: store + ".away", toPath: store)
        try await eventually("returned") {
            seen.has { if case .storeReturned = $0 { true } else { false } }
        }
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('after')")
        try await eventually("goes on") { seen.transactions.count == 1 }
    }

    @Test func anotherFileAtThePathIsSaid() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let other = try await daemon.makeStore("other.db")
        try await daemon.client.untrack(other, forget: true)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try sqlite3(other, "PRAGMA wal_checkpoint(TRUNCATE)")
        guard rename(other, store) == 0 else { throw Failure("rename") }
        try await eventually("replaced") {
            seen.has { if case .storeReplaced = $0 { true } else { false } }
        }
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('new')")
        try await eventually("goes on with the new one") { seen.transactions.count == 1 }
    }

    @Test func purgingIsSaidAndAnOldTokenIsAnError() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let client = daemon.client
        let start = try await client.head(store)
        let seen = Collector(client.subscribe(store))
        try await seen.begun()
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('a')")
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('b')")
        let isPurge: @Sendable (Notice) -> Bool = {
            if case .historyPurged = $0 { true } else { false }
        }
        _ = try await client.purge(store)
        try await eventually("purged") { seen.has(isPurge) }
        // One that removes nothing changes no history.
        #expect(try await client.purge(store).transactions == 0)
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('c')")
        try await eventually("told") { seen.transactions.count == 3 }
        #expect(seen.notices.count(where: isPurge) == 1)
        do {
            for try await _ in client.subscribe(store, after: start) {}
            Issue.record("no error")
        } catch let error as SyncError {
            #expect(error.code == .historyExpired && error.needsResync && error.hint != nil)
        }
    }

    @Test func purgingRecordsForOtherReplicasFirst() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let replica = try StoreReplica(store)
        _ = try replica.vector
        try replica.close()
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('a')")
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('b')")
        #expect(try await daemon.client.purge(store).transactions > 0)
        let opened = try Store.open(store)
        defer { try? opened.close() }
        #expect(try !opened.hasUnrecordedChanges())
    }

    /// A store that could not be untracked is watched on, by the same subscriptions.
    @Test func anUntrackThatFailsEndsNoSubscription() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let locked = daemon.directory.file("locked")
        // Until the file is removed, and longer than the daemon waits for a lock.
        let writer = """
            import os, sqlite3, sys, time
            c = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
            c.execute("BEGIN IMMEDIATE")
            c.execute("INSERT INTO Artist(Name) VALUES ('a')")
            open(sys.argv[2], "w").close()
            end = time.time() + 60
            while os.path.exists(sys.argv[2]) and time.time() < end: time.sleep(0.01)
            c.execute("COMMIT")
            """
        let thread = Thread {
            _ = try? run("/usr/bin/python3", ["-c", writer, store, locked])
        }
        thread.start()
        try await eventually("a writer has the lock") {
            FileManager.default.fileExists(atPath: locked)
        }
        await #expect(throws: SyncError.self) { try await daemon.client.untrack(store) }
        try FileManager.default.removeItem(atPath: locked)
        try await eventually("it goes on") { seen.transactions.count == 1 }
        #expect(seen.error == nil)
        #expect(try await daemon.client.list().map(\.path) == [store])
        try await eventually("it is free again") { thread.isFinished }
        try await daemon.client.untrack(store)
        try await eventually("the end is said") { seen.error != nil }
    }

    @Test func storesAreRememberedAndForgotten() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        #expect(daemon.stop() == 0)
        try await daemon.start()
        #expect(try await daemon.client.list().map(\.path) == [store])
        try await daemon.client.untrack(store)
        #expect(
            try sqlite3(store, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'syncd%'") == "0"
        )
        #expect(daemon.stop() == 0)
        try await daemon.start()
        #expect(try await daemon.client.list().isEmpty)
    }

    @Test func aReloadOpensAndClosesStoresAndKeepsClients() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let second = try await daemon.makeStore("second.db")
        try await daemon.client.untrack(second, forget: true)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try "stores: [\(second)]".write(
            toFile: daemon.directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("reloaded") { try await daemon.client.list().count == 2 }
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('a')")
        try await eventually("still subscribed") { seen.transactions.count == 1 }
    }

    /// Without synchronising the daemon serves as ever; a reload turns it on.
    @Test func aReloadSwitchesSynchronising() async throws {
        let directory = try TemporaryFolder()
        let configuration = directory.file("syncd.yaml")
        try "sync: {enabled: false}".write(
            toFile: configuration, atomically: true, encoding: .utf8)
        let daemon = try await TestDaemon(in: directory)
        let store = try await daemon.makeStore()
        let shared = directory.file("shared")
        mkdir(shared, 0o755)
        try run(Programs.synctool.path, ["remote", "add", store, "origin", "dir:" + shared])
        let files = { try FileManager.default.subpathsOfDirectory(atPath: shared).count }
        let before = try files()
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('a')")
        try await Task.sleep(for: .seconds(1))
        #expect(try files() == before)
        try "sync: {delayMilliseconds: 20}".write(
            toFile: configuration, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("synchronised") { try files() > before }
    }
}
