import Foundation
import SyncMerge
import SyncRemotes
import SyncTesting
import Testing

/// A folder as a remote, and what can happen to its files.
@Suite("Remote: folder")
struct DirectoryRemoteTests {
    private let store = SimulatedReplica.store

    private func remote(_ folder: TemporaryFolder, _ name: Character) throws -> DirectoryRemote {
        try DirectoryRemote.create(folder.path, store: store)
        return try DirectoryRemote(
            folder.path, store: store, replica: SimulatedReplica.id(name))
    }

    @Test("a folder conforms to the protocol of remotes")
    func conforms() async throws {
        let parent = try TemporaryFolder()
        try await RemoteConformance { [store] in
            let path = parent.path + "/" + UUID().uuidString
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false)
            try DirectoryRemote.create(path, store: store)
            return try DirectoryRemote(path, store: store, replica: SimulatedReplica.id("A"))
        }.run()
    }

    @Test("a missing folder is an error, and a push never creates it")
    func vanishedFolder() async throws {
        let folder = try TemporaryFolder()
        let remote = try remote(folder, "A")
        let peer = try SimulatedPeer("A", schema: .notes)
        try await peer.transact("INSERT INTO note VALUES('x', 'text')")
        try FileManager.default.removeItem(atPath: folder.path)
        await #expect(throws: SyncError(.unreachable, "")) {
            try await Exchange(peer, with: remote).push()
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: false)
        await #expect(throws: SyncError(.unreachable, ""), "an empty mount point") {
            try await Exchange(peer, with: remote).push()
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test("a folder of another store is refused")
    func foreignFolder() throws {
        let folder = try TemporaryFolder()
        let other = try #require(StoreID(String(repeating: "6", count: 32)))
        try DirectoryRemote.create(folder.path, store: other)
        #expect(throws: SyncError(.refused, "")) {
            try DirectoryRemote.create(folder.path, store: store)
        }
    }

    @Test("files that are truncated, copied, renamed or foreign are skipped and reported")
    func strangeFiles() async throws {
        let folder = try TemporaryFolder()
        let a = try SimulatedPeer("A", schema: .notes, slice: 1)
        for number in 0..<2 {
            try await a.transact("INSERT INTO note VALUES('k\(number)', 'text')")
        }
        _ = try await Exchange(a, with: try remote(folder, "A")).push()
        let files = folder.batches()
        let whole = try Data(contentsOf: URL(filePath: files[1]))
        try whole.dropLast(5).write(to: URL(filePath: files[1]))
        let copy = files[0].replacingOccurrences(of: ".synb", with: " (conflicted copy).synb")
        try FileManager.default.copyItem(atPath: files[0], toPath: copy)
        try Data("hello".utf8).write(to: URL(filePath: files[0] + ".synb"))
        try Data("notes".utf8).write(to: URL(filePath: folder.path + "/README.txt"))
        try FileManager.default.createDirectory(
            atPath: folder.path + "/photos", withIntermediateDirectories: false)

        let b = try SimulatedPeer("B", schema: .notes)
        let report = try await Exchange(b, with: try remote(folder, "B")).pull()
        #expect(report.pulledCount == 1)
        #expect(report.problems.count == 2, "\(report.problems)")
        try whole.write(to: URL(filePath: files[1]))  // the rest has arrived
        #expect(try await Exchange(b, with: try remote(folder, "B")).pull().pulledCount == 1)
        #expect(try await a.canonical() == b.canonical())
    }

    @Test("a damaged own batch that is removed is sent again, others' files are never removed")
    func damagedBatch() async throws {
        let folder = try TemporaryFolder()
        let a = try SimulatedPeer("A", schema: .notes, slice: 1)
        let (ours, theirs) = (try remote(folder, "A"), try remote(folder, "B"))
        for number in 0..<3 {
            try await a.transact("INSERT INTO note VALUES('k\(number)', 'text')")
        }
        _ = try await Exchange(a, with: ours).push()
        #expect(try await ours.removeDamaged() == 0)
        let file = folder.batches()[1]
        var bytes = try Data(contentsOf: URL(filePath: file))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(filePath: file))
        #expect(try await theirs.removeDamaged() == 0)
        #expect(try await ours.removeDamaged() == 1)
        _ = try await Exchange(a, with: ours).push()
        let b = try SimulatedPeer("B", schema: .notes)
        _ = try await Exchange(b, with: theirs).pull()
        #expect(try await a.canonical() == b.canonical())
        #expect(try await ours.head() == a.vector)
    }

    @Test("replicas that share a folder converge whatever a file syncer does to it")
    func hostileSyncer() async throws {
        for seed in TestSeed.each(of: 0..<12) {
            do {
                try await shareFolder(seed: seed)
            } catch {
                Issue.record("\(seed): \(error)")
            }
        }
    }

    private func shareFolder(seed: TestSeed) async throws {
        var random = seed.random
        let folder = try TemporaryFolder()
        let names: [Character] = ["A", "B", "C"]
        var peers: [SimulatedPeer] = []
        for name in names {
            peers.append(try SimulatedPeer(name, schema: .notes, slice: 1 + random.below(3)))
        }
        for step in 0..<40 {
            let place = random.below(peers.count)
            let exchange = Exchange(peers[place], with: try remote(folder, names[place]))
            switch random.below(5) {
            case 0, 1:
                let key = random.below(6)
                try await peers[place].transact(
                    "INSERT INTO note VALUES('k\(key)', 't\(step)') "
                        + "ON CONFLICT(name) DO UPDATE SET body = excluded.body")
            case 2: _ = try await exchange.push()
            case 3: _ = try await exchange.pull()
            default: try harm(folder, &random)
            }
        }
        for _ in 0..<2 {
            for (peer, name) in zip(peers, names) {
                let remote = try remote(folder, name)
                _ = try await remote.removeDamaged()
                _ = try await Exchange(peer, with: remote).sync()
            }
        }
        let clone = try SimulatedPeer("D", schema: .notes)
        _ = try await Exchange(clone, with: try remote(folder, "D")).pull()
        let expected = try await clone.canonical()
        for peer in peers where try await peer.canonical() != expected {
            throw SimulationFailure("replicas differ")
        }
    }

    /// What file syncers, disks and users do to a file: truncate, remove, copy or damage it.
    private func harm(_ folder: TemporaryFolder, _ random: inout SeededRandom) throws {
        let files = folder.batches()
        guard !files.isEmpty else { return }
        let file = random.pick(files)
        var bytes = try Data(contentsOf: URL(filePath: file))
        switch random.below(4) {
        case 0: try bytes.prefix(random.below(bytes.count)).write(to: URL(filePath: file))
        case 1: try FileManager.default.removeItem(atPath: file)
        case 2: try bytes.write(to: URL(filePath: file + " copy.synb"))
        default:
            bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
            try bytes.write(to: URL(filePath: file))
        }
    }
}

extension DirectoryRemote {
    /// Removes the replica's own batches whose payload is damaged: what an administrator can do.
    /// - Returns: the number of removed files.
    fileprivate func removeDamaged() async throws -> Int {
        var damaged: [BatchCatalog.Item] = []
        for item in try await ownBatches(ifMoreThan: 0) {
            let bytes = try await fetch(item)
            if (try? BatchDecoder.verify(bytes)) == nil { damaged.append(item) }
        }
        try await remove(damaged)
        return damaged.count
    }
}
