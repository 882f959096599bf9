import Foundation
import SyncMerge
import SyncRemotes
import SyncTesting
import Testing

/// Batches in a folder whose content was damaged after they were written.
@Suite("Remote: damaged batches")
struct DamagedBatchTests {
    private let store = SimulatedReplica.store
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func remote(_ name: Character) throws -> DirectoryRemote {
        try DirectoryRemote.create(folder.path, store: store)
        return try DirectoryRemote(
            folder.path, store: store, replica: SimulatedReplica.id(name))
    }

    /// The newest batch of a replica.
    private func newest(of name: Character) throws -> String {
        let own = folder.path + "/" + SimulatedReplica.id(name).description
        let names = try FileManager.default.contentsOfDirectory(atPath: own)
            .filter { $0.hasSuffix(".synb") }.sorted()
        return own + "/" + (try #require(names.last))
    }

    private enum Damage: CaseIterable { case flippedByte, zeros }

    private func damage(_ path: String, by damage: Damage) throws {
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        switch damage {
        case .flippedByte: bytes[bytes.count - 5] ^= 1
        case .zeros: bytes = Array(repeating: 0, count: bytes.count)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    /// Writes two batches of A, of which the second is damaged.
    private func prepare(by damage: Damage) async throws -> SimulatedPeer {
        let a = try SimulatedPeer("A", schema: .notes)
        for text in ["first", "second"] {
            try await a.transact("INSERT INTO note VALUES('\(text)', 'text')")
            _ = try await Exchange(a, with: try remote("A")).sync()
        }
        try self.damage(try newest(of: "A"), by: damage)
        return a
    }

    @Test("the writer sends it again, once it was found damaged", arguments: Damage.allCases)
    private func writerSendsAgain(damage: Damage) async throws {
        let a = try await prepare(by: damage)
        let b = try SimulatedPeer("B", schema: .notes)
        let found = try await Exchange(b, with: try remote("B")).pull()
        #expect(found.pulledCount == 1 && found.problems.count == 1)
        // Until it is sent again it stays named: nobody fetches what no catalog has.
        let second = try await Exchange(b, with: try remote("B")).pull()
        #expect(second.pulledCount == 0 && second.problems.count == 1)
        let again = try await Exchange(a, with: try remote("A")).sync()
        #expect(again.pushedCount == 1)
        #expect(try await Exchange(b, with: try remote("B")).pull().pulledCount == 1)
        #expect(try await b.vector == a.vector)
        // What is whole again is not named any more, and not sent any more.
        _ = try await Exchange(b, with: try remote("B")).sync()
        let note = folder.path + "/\(SimulatedReplica.id("B"))/damaged"
        #expect(!FileManager.default.fileExists(atPath: note))
        #expect(try await Exchange(a, with: try remote("A")).sync().pushedCount == 0)
    }

    @Test("another replica that has the content sends it", arguments: Damage.allCases)
    private func otherSends(damage: Damage) async throws {
        let a = try SimulatedPeer("A", schema: .notes)
        let b = try SimulatedPeer("B", schema: .notes)
        for text in ["first", "second"] {
            try await a.transact("INSERT INTO note VALUES('\(text)', 'text')")
            _ = try await Exchange(a, with: try remote("A")).sync()
        }
        _ = try await Exchange(b, with: try remote("B")).sync()
        try self.damage(try newest(of: "A"), by: damage)
        let late = try SimulatedPeer("C", schema: .notes)
        _ = try await Exchange(late, with: try remote("C")).sync()
        _ = try await Exchange(b, with: try remote("B")).sync()
        _ = try await Exchange(late, with: try remote("C")).sync()
        #expect(try await late.vector == b.vector)
    }

    @Test("a name of a whole batch changes nothing")
    func falseName() async throws {
        let a = try SimulatedPeer("A", schema: .notes)
        try await a.transact("INSERT INTO note VALUES('x', 'text')")
        _ = try await Exchange(a, with: try remote("A")).sync()
        let name = try newest(of: "A").dropFirst(folder.path.count + 1)
        try await remote("B").noteDamaged([String(name), "../../etc/passwd", "nothing"])
        let report = try await Exchange(a, with: try remote("A")).sync()
        #expect(report.pushedCount == 0 && report.problems.isEmpty)
    }
}
