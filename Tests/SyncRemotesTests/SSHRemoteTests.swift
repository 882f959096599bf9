import Foundation
import SyncMerge
import SyncTesting
import Testing

@testable import SyncRemotes

/// A store behind a command: the protocol, and the ways in which ssh fails.
@Suite("Remote: ssh", .timeLimit(.minutes(4)))
struct SSHRemoteTests {
    @Test("a store behind ssh conforms to the protocol of remotes")
    func conforms() async throws {
        try await RemoteConformance(keeping: .transactions) {
            let served = try await ServedReplica(try SimulatedPeer("S", schema: .notes, slice: 1))
            return Holding(try FakeSSH(served.connect).remote(), served)
        }.run()
    }

    @Test("two stores synchronise, whatever the remote shell prints before the greeting")
    func banners() async throws {
        let far = try SimulatedPeer("S", schema: .notes, slice: 2)
        let served = try await ServedReplica(far)
        let fake = try FakeSSH(
            """
            printf 'Welcome to host!\\r\\n\\n  *** syncd-serve is not here ***\\n'
            printf 'no end of line'
            echo 'a message on stderr' >&2
            \(served.connect)
            """)
        let near = try SimulatedPeer("N", schema: .notes)
        for number in 0..<5 {
            try await near.transact("INSERT INTO note VALUES('n\(number)', 'near')")
            try await far.transact("INSERT INTO note VALUES('f\(number)', 'far')")
        }
        let remote = fake.remote()
        let report = try await Exchange(near, with: remote).sync()
        #expect(report.pulledCount == 5 && report.pushedCount == 5)
        #expect(try await near.canonical() == far.canonical())
        #expect(try await Exchange(near, with: remote).sync().bytes == 0, "nothing is left")
        await remote.disconnect()
        #expect(try await Exchange(near, with: remote).sync().bytes == 0, "and it connects again")
        #expect(try await remote.identity().replica == far.id)
    }

    @Test("the arguments reach ssh literally, and the path reaches the remote shell as one word")
    func command() throws {
        let command = SSHCommand.make(
            for: SSHAddress(
                user: "me", host: "[::1]", port: 2222, path: "/a b/it's $HOME `x` \\ !1.db"),
            options: SSHOptions())
        #expect(command.suffix(6).dropLast() == ["2222", "-l", "me", "--", "::1"])
        #expect(command.contains("BatchMode=yes"))
        let line = try #require(command.last).replacingOccurrences(
            of: "exec 'synctool'", with: "printf '%s\\n'")
        for shell in ["/bin/sh", "/bin/bash"] {
            let process = Process()
            process.executableURL = URL(filePath: shell)
            process.arguments = ["-c", line]
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            let output = String(
                decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(output == "serve\n--stdio\n/a b/it's $HOME `x` \\ !1.db\n")
        }
    }

    @Test(
        "an ssh that fails is `unreachable`, with its last message and a hint",
        arguments: [
            ("echo 'Connection refused' >&2; exit 255", "Connection refused"),
            ("echo 'sh: synctool: not found' >&2; exit 127", "synctool was not found"),
            ("echo oops >&2; exit 3", "status 3: oops"),
            ("kill -9 $$", "signal 9"),
            ("echo 'This account is not available.'; exit 1", "status 1"),
            ("exec >&-; sleep 0.3; exit 4", "status 4"),
        ])
    func failures(script: String, words: String) async throws {
        let remote = try FakeSSH(script).remote()
        let error = await #expect(throws: SyncError.self) { try await remote.head() }
        #expect(error?.code == .unreachable)
        #expect(error?.reason.contains(words) == true, "\(error?.reason ?? "")")
        #expect(error?.hint != nil)
    }

    @Test(
        "an ssh that hangs times out, before and after the greeting",
        arguments: [
            "exec sleep 1000", "echo banner; exec sleep 1000",
            "echo 'syncd-serve 1'; exec sleep 1000", "trap '' TERM; while :; do sleep 1; done",
            "exec yes", "exec cat /dev/zero",
        ])
    func hanging(script: String) async throws {
        let remote = try FakeSSH(script).remote(timeout: .seconds(1))
        let begin = ContinuousClock.now
        let error = await #expect(throws: SyncError.self) { try await remote.head() }
        #expect([.unreachable, .badData].contains(error?.code))
        #expect(ContinuousClock.now - begin < .seconds(60))
    }

    @Test("a missing program is reported")
    func noProgram() async throws {
        var options = SSHOptions()
        options.program = "/no/such/ssh"
        let address = SSHAddress(user: nil, host: "host", port: nil, path: "/a.db")
        let remote = SSHRemote(address, store: nil, options: options)
        await #expect(throws: SyncError(.unreachable, "")) { try await remote.head() }
    }

    @Test("another version of the protocol is an error that names it")
    func newerVersion() async throws {
        let remote = try FakeSSH("echo 'syncd-serve 2'; exec sleep 10").remote()
        await #expect(throws: SyncError(.newerFormat, "")) { try await remote.head() }
    }

    @Test("another store is refused, and nothing is sent to it")
    func foreignStore() async throws {
        let far = try SimulatedPeer("S", schema: .notes)
        let served = try await ServedReplica(far)
        let other = StoreID(String(repeating: "6", count: 32))
        let remote = try FakeSSH(served.connect).remote(store: other)
        await #expect(throws: SyncError(.refused, "")) { try await remote.head() }
    }

    @Test("a store that is served read-only can be pulled, and refuses a push")
    func readOnly() async throws {
        let far = try SimulatedPeer("S", schema: .notes)
        try await far.transact("INSERT INTO note VALUES('x', 'far')")
        let served = try await ServedReplica(far, isReadOnly: true)
        let near = try SimulatedPeer("N", schema: .notes)
        try await near.transact("INSERT INTO note VALUES('y', 'near')")
        let exchange = Exchange(near, with: try FakeSSH(served.connect).remote())
        #expect(try await exchange.pull().pulledCount == 1)
        await #expect(throws: SyncError(.notAllowed, "")) { try await exchange.push() }
        #expect(try await far.query("SELECT count(*) FROM note") == [[1]])
        // What it says that it has merged is not kept either: collecting depends on it.
        await #expect(throws: SyncError(.notAllowed, "")) {
            try await exchange.remote.acknowledge(VersionVector([Dot(far.id, 1)]), of: near.id)
        }
        #expect(try await exchange.remote.acknowledged()[near.id] == nil)
    }

    @Test("a connection that is cut anywhere loses nothing, and the next exchange continues")
    func cutAnywhere() async throws {
        let far = try SimulatedPeer("S", schema: .notes, slice: 1)
        let near = try SimulatedPeer("N", schema: .notes, slice: 1)
        for number in 0..<4 {
            try await near.transact("INSERT INTO note VALUES('n\(number)', 'near')")
            try await far.transact("INSERT INTO note VALUES('f\(number)', 'far')")
        }
        let served = try await ServedReplica(far)
        for bytes in stride(from: 1, to: 3000, by: 149) {
            let cut = try FakeSSH("\(served.connect) \(bytes)")
            do {
                _ = try await Exchange(near, with: cut.remote(timeout: .seconds(20))).sync()
            } catch let error as SyncError {
                #expect([.unreachable, .badData].contains(error.code), "\(error)")
            }
        }
        let remote = try FakeSSH(served.connect).remote()
        _ = try await Exchange(near, with: remote).sync()
        #expect(try await near.canonical() == far.canonical())
        #expect(try await far.query("SELECT count(*) FROM note") == [[8]])
    }

    @Test("invalid bytes of a client end its connection, never the program")
    func hostileClient() async throws {
        let far = try SimulatedPeer("S", schema: .notes)
        let served = try await ServedReplica(far)
        let seed = TestSeed.fixed(99)
        var random = seed.random
        for round in 0..<60 {
            var bytes = (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
            if round % 2 == 0 { bytes = [0, 0, 0, UInt8(bytes.count)] + bytes }
            if round % 10 == 0 { bytes = [255, 255, 255, 255] + bytes }
            for body in [bytes, Array(bytes.dropFirst(4))] {
                _ = try? ServeRequest(body)
                _ = try? ServeAnswer(body)
            }
            let answer = try served.send(bytes)
            #expect(answer.starts(with: Array("syncd-serve 1\n".utf8)), "\(seed), round \(round)")
        }
        #expect(try await FakeSSH(served.connect).remote().head().isEmpty)
    }
}

/// Keeps the server of a remote alive.
private struct Holding: ForwardingRemote {
    let remote: SSHRemote
    let server: ServedReplica

    init(_ remote: SSHRemote, _ server: ServedReplica) {
        self.remote = remote
        self.server = server
    }

    func inner() -> SSHRemote { remote }
}
