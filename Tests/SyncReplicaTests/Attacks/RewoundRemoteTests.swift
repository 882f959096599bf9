import Foundation
import SyncRemotes
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// The host of a folder puts it back to an earlier state.
@Suite("Attacks: a rewound folder", .timeLimit(.minutes(5)))
struct RewoundRemoteTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("a folder that lacks what it had is named, by sync and by status, until it is healed")
    func rewound() async throws {
        let a = try RestoredFile(
            folder.file("a.db"), schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)",
            isSigning: true)
        let (path, backup) = (folder.file("shared"), folder.file("backup"))
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try DirectoryRemote.create(path, store: try await a.withReplica { $0.storeID })
        let entry = try RemoteEntry(name: "origin", url: "dir:" + path)
        func exchange(
            _ file: RestoredFile, _ direction: ExchangeDirection
        ) async throws -> ExchangeReport {
            try await file.withReplica {
                try await $0.exchange(direction, with: entry, ring: KeyRing())
            }
        }
        func findings(_ file: RestoredFile) throws -> [String] {
            let store = try Store.open(file.path)
            defer { try? store.close() }
            return try store.exchangeFindings()
        }
        try a.run("INSERT INTO note(text) VALUES ('first')")
        #expect(try await exchange(a, .sync).rewound == nil)
        let batches = try await a.withReplica { try $0.batches(since: VersionVector()) }
        let clone = folder.file("b.db")
        try StoreReplica.clone(at: clone, from: batches).close()
        let b = RestoredFile(existing: clone)
        try FileManager.default.copyItem(atPath: path, toPath: backup)
        try a.run("INSERT INTO note(text) VALUES ('second')")
        #expect(try await exchange(a, .sync).rewound == nil)
        #expect(try await exchange(b, .pull).rewound == nil)

        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: backup, toPath: path)
        let told = try #require(try await exchange(b, .pull).rewound)
        let name = try await a.withReplica { $0.replicaID }
        #expect(told.contains("rewound") && told.contains("\(name)"))
        #expect(try findings(b) == [told])
        #expect(try await exchange(b, .pull).rewound == told, "until it is healed")
        // Its writer sends again what it has, and says why.
        #expect(try await exchange(a, .sync).rewound?.contains("rewound") == true)
        #expect(try await exchange(b, .pull).rewound == nil)
        #expect(try findings(b).isEmpty && findings(a).isEmpty)
        #expect(try b.strings("SELECT text FROM note ORDER BY id") == ["first", "second"])
    }

    @Test("what another process sends while the folder is looked at is not missed")
    func anotherProcess() async throws {
        let path = folder.file("shared")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let a = try RestoredFile(
            folder.file("a.db"), schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)",
            isSigning: true)
        try DirectoryRemote.create(path, store: try await a.withReplica { $0.storeID })
        let entry = try RemoteEntry(name: "origin", url: "dir:" + path)
        try a.run("INSERT INTO note(text) VALUES ('first')")
        // As a daemon does that has just read of a remote which a command added.
        let report = try await a.withReplica { replica in
            try await replica.exchange(
                .pull, with: entry, ring: KeyRing(),
                whileConnected: { _ in
                    let pushed = try await a.withReplica {
                        try await $0.exchange(.push, with: entry, ring: KeyRing())
                    }
                    #expect(pushed.pushedCount > 0)
                })
        }
        #expect(report.rewound == nil)
        let again = try await a.withReplica {
            try await $0.exchange(.sync, with: entry, ring: KeyRing())
        }
        #expect(again.rewound == nil && again.pushedCount == 0)
        // What is missing afterwards is.
        for name in try FileManager.default.subpathsOfDirectory(atPath: path)
        where name.hasSuffix(".synb") {
            try FileManager.default.removeItem(atPath: path + "/" + name)
        }
        let lost = try await a.withReplica {
            try await $0.exchange(.pull, with: entry, ring: KeyRing())
        }
        #expect(lost.rewound != nil)
    }

    @Test("what a removed member had sent is not missed")
    func removedMember() async throws {
        let a = try RestoredFile(
            folder.file("a.db"), schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)",
            isSigning: true)
        let path = folder.file("shared")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try DirectoryRemote.create(path, store: try await a.withReplica { $0.storeID })
        let entry = try RemoteEntry(name: "origin", url: "dir:" + path)
        func sync(_ file: RestoredFile) async throws -> ExchangeReport {
            try await file.withReplica {
                try await $0.exchange(.sync, with: entry, ring: KeyRing())
            }
        }
        try a.run("INSERT INTO note(text) VALUES ('first')")
        _ = try await sync(a)
        let batches = try await a.withReplica { try $0.batches(since: VersionVector()) }
        let clone = folder.file("b.db")
        try StoreReplica.clone(at: clone, from: batches).close()
        let b = RestoredFile(existing: clone)
        try b.run("INSERT INTO note(text) VALUES ('second')")
        _ = try await sync(b)
        #expect(try await sync(a).pulledCount == 1)
        let removed = try await b.withReplica { $0.replicaID }
        try await a.withReplica { try $0.setMember(removed, isRemoved: true) }
        for _ in 0..<2 { #expect(try await sync(a).rewound == nil) }
    }
}
