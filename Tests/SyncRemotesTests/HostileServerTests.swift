import Foundation
import SyncMerge
import SyncTesting
import Testing

@testable import SyncRemotes

/// The other side of ssh is a program of somebody else: what it sends has limits, and each error
/// says what to do.
@Suite("Remote: a hostile server", .timeLimit(.minutes(1)))
struct HostileServerTests {
    @Test(
        "what is no valid answer is an error with the address and what to do",
        arguments: [
            (#"\377\377\377\377"#, "too long"), (#"\000\000\000\000"#, "truncated"),
            (#"\000\000\000\002\003\001"#, "truncated"),
            // A failure without code, reason and hint; one with a code that nobody knows.
            (#"\000\000\000\005\007\000\000\000\000"#, "the other side says"),
            (#"\000\000\000\007\007\001x\001y\000\000"#, "the other side says: y"),
            (#"\000\000\000\023\007\015internalFault\001y\000\000"#, "the other side says: y"),
        ])
    func invalidAnswers(frame: String, words: String) async throws {
        let script = "printf 'syncd-serve 1\\n\(frame)'; exec sleep 100"
        let remote = try FakeSSH(script).remote(timeout: .seconds(20))
        let error = await #expect(throws: SyncError.self) { try await remote.head() }
        #expect([.badData, .unreachable].contains(error?.code), "\(error?.code.name ?? "")")
        #expect(error?.reason.contains("ssh://me@host:22") == true, "\(error?.reason ?? "")")
        #expect(error?.reason.contains(words) == true, "\(error?.reason ?? "")")
        #expect(error?.hint?.contains("synctool") == true, "\(error?.hint ?? "")")
    }

    @Test("words and paths of the other side are marked, and its faults are none of ours")
    func words() async throws {
        func error(_ code: String, _ path: String, _ hint: String) async throws -> SyncError? {
            var body: [UInt8] = [7]
            for text in [code, "out of date", path, hint] {
                body += [UInt8(text.utf8.count)] + Array(text.utf8)
            }
            let frame: [UInt8] = [0, 0, 0, UInt8(body.count)] + body
            let octal = frame.map { String(format: "\\%03o", Int($0)) }.joined()
            let script = "printf 'syncd-serve 1\\n\(octal)'; exec sleep 100"
            let remote = try FakeSSH(script).remote(timeout: .seconds(20))
            return await #expect(throws: SyncError.self) { try await remote.head() }
        }
        let refused = try await error("refused", "b.db", "Try it")
        #expect(refused?.code == .refused && refused?.path == nil)
        let reason = "the other side says (of the file b.db there): out of date"
        #expect(refused?.reason.hasSuffix(reason) == true, "\(refused?.reason ?? "")")
        #expect(refused?.reason.hasPrefix("ssh://me@host:22/") == true)
        #expect(refused?.hint == "The other side says: Try it")
        let fault = try await error("internalFault", "", "Report it")
        #expect(fault?.code == .unreachable)
        #expect(fault?.reason.hasSuffix("the other side says: out of date") == true)
    }

    /// - Returns: the error with which the greeting ends.
    private func greet(
        _ script: String, within timeouts: ServeClient.Timeouts
    ) async throws -> SyncError? {
        let client = try ServeClient([try FakeSSH(script).options.program], timeouts: timeouts) {
            SyncError(.unreachable, "\($0), \($1 ?? "")")
        }
        defer { client.close() }
        return await #expect(throws: SyncError.self) { try await client.greeting() }
    }

    @Test("a banner without end, and one that comes letter by letter")
    func banner() async throws {
        let script = "while printf x; do sleep 0.05; done"
        for script in [script, script.replacingOccurrences(of: "printf", with: "echo")] {
            let error = try await greet(script, within: .init(greeting: .seconds(1)))
            #expect(error?.code == .unreachable)
        }
    }

    @Test("a server that is always working")
    func working() async throws {
        let error = try await greet(
            #"echo 'syncd-serve 1'; while printf '\000\000\000\001\000'; do sleep 0.02; done"#,
            within: .init(
                greeting: .seconds(20), answer: .seconds(20), working: .milliseconds(500)))
        #expect(error?.reason.contains("unfinished") == true, "\(String(describing: error))")
    }

    @Test("an answer that comes letter by letter")
    func drip() async throws {
        let error = try await greet(
            #"printf 'syncd-serve 1\n\001\000\000\000'; while printf x; do sleep 0.02; done"#,
            within: .init(greeting: .seconds(20), answer: .seconds(1)))
        #expect(error?.code == .unreachable)
    }

    @Test("a remote that invents batches without end")
    func inventions() async throws {
        let near = try SimulatedPeer("N", schema: .notes)
        let far = try SimulatedPeer("S", schema: .notes)
        try await far.transact("INSERT INTO note VALUES('f', 'far')")
        let batch = try await far.batches(since: VersionVector())[0]
        let remote = InventingRemote(envelope: try BatchEnvelope.read(batch).envelope)
        let error = await #expect(throws: SyncError.self) {
            try await Exchange(near, with: remote).pull()
        }
        #expect(error?.code == .badData)
        #expect(error?.reason.contains("led no further") == true, "\(String(describing: error))")
        #expect(error?.hint != nil)
    }
}

/// Each catalog has a batch under a new name, which cannot be read.
private actor InventingRemote: Remote {
    let envelope: BatchEnvelope
    private var count = 0

    init(envelope: BatchEnvelope) { self.envelope = envelope }

    func catalog(since: VersionVector) -> BatchCatalog {
        count += 1
        return BatchCatalog([.init(name: "batch-\(count)", envelope: envelope)])
    }
    func head() -> VersionVector { VersionVector() }
    func fetch(_ item: BatchCatalog.Item) throws -> [UInt8] {
        throw SyncError(.badData, "invented")
    }
    func append(_ batch: [UInt8]) {}
    func acknowledge(_ vector: VersionVector, of replica: ReplicaID) {}
    func acknowledged() -> [ReplicaID: VersionVector] { [:] }
    func noteSums(_ sums: [UInt8], of replica: ReplicaID) {}
    func notedSums() -> [ReplicaID: [UInt8]] { [:] }
}
