import Foundation
import SyncClient
import SyncTesting
import Testing

/// A store that is not in use has no connection of the daemon: no -wal beside it, nothing in the
/// way of a change of the journal mode, and no commit left out afterwards.
///
/// `SYNCD_RESTING_STORES=1000` sets the number of stores whose descriptors are counted.
@Suite(.timeLimit(.minutes(10))) struct RestingStoreTests {
    private func descriptors(of daemon: TestDaemon) throws -> [String] {
        let folder = "/proc/\(daemon.pid)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
    }

    private func eventuallyRests(_ daemon: TestDaemon, _ stores: [String]) async throws {
        try await eventually("no store is open", seconds: 60) {
            let open = Set(try descriptors(of: daemon))
            return !stores.contains(where: open.contains)
        }
    }

    private func insert(_ ids: Range<Int>, into store: String) throws {
        for id in ids { try sqlite3(store, "INSERT INTO Album VALUES (\(id), 't', 1)") }
    }

    @Test func theJournalModeOfAQuietStoreCanBeChanged() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try insert(0..<1, into: store)
        for (number, mode) in ["delete", "wal", "truncate"].enumerated() {
            if mode != "wal" {
                try await eventuallyRests(daemon, [store])
                #expect(!FileManager.default.fileExists(atPath: store + "-wal"))
            }
            #expect(try sqlite3(store, "PRAGMA journal_mode = \(mode)") == mode)
            let ids = (number * 3 + 1)..<(number * 3 + 4)
            try insert(ids, into: store)
            try await eventually("commits in mode \(mode) are told") {
                seen.objects.count == ids.upperBound
            }
        }
        #expect(seen.objects == (0..<10).map { "Album/\($0)" })
        let history = try await daemon.client.history(store)
        #expect(history == seen.transactions)
        #expect(!seen.has(\.isAboutReplacement))
    }

    /// Each program that commits is the last one to close the database, and deletes the -wal.
    @Test func commitsOfShortProgramsAreToldOneByOne() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        for round in 0..<2 {
            try await eventuallyRests(daemon, [store])
            try insert(round * 5..<round * 5 + 5, into: store)
            try await eventually("all is told") { seen.objects.count == round * 5 + 5 }
        }
        #expect(seen.objects == (0..<10).map { "Album/\($0)" })
        #expect(try await daemon.client.history(store) == seen.transactions)
    }

    @Test func quietStoresHaveNoDescriptors() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["SYNCD_RESTING_STORES"].flatMap { Int($0) } ?? 30
        let daemon = try await TestDaemon()
        var stores: [String] = []
        for number in 0..<count { stores.append(try await daemon.makeStore("\(number).db")) }
        try await eventuallyRests(daemon, stores)
        let open = try descriptors(of: daemon)
        let journals = open.count { $0.hasSuffix(".boundaries") }
        #expect(open.count - journals < 40)
        #expect(journals <= count)
        // Questions and commits open them again.
        for store in stores { try insert(7..<8, into: store) }
        for store in stores {
            try await eventually("\(store) is followed") {
                try await daemon.client.history(store).last?.changes.last?.object.path == "Album/7"
            }
        }
    }

    /// A file that is moved over one that rests is found, and nothing of the former is beside it.
    @Test func aRestingStoreCanBeReplaced() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try insert(0..<1, into: store)
        try await eventuallyRests(daemon, [store])
        let copy = daemon.directory.file("copy.db")
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        try sqlite3(copy, "INSERT INTO Artist VALUES (2, 'Bob')")
        rename(copy, store)
        try await eventually("the subscriber is told of the other file") {
            seen.has(\.isAboutReplacement)
        }
        try insert(1..<2, into: store)
        try await eventually("commits are told") { seen.objects.contains("Album/1") }
        #expect(try sqlite3(store, "SELECT count(*) FROM Artist") == "2")
    }
}

extension Notice {
    fileprivate var isAboutReplacement: Bool {
        if case .storeReplaced = self { true } else { false }
    }
}
