import Foundation
import Glibc
import SyncClient
import SyncCore
import SyncTesting
import Synchronization
import Testing

@testable import syncd

/// What nobody should send or ask: a clear error with the next step, nothing lost, daemon alive.
@Suite(.timeLimit(.minutes(3))) struct BadInputTests {
    private func expect(
        _ code: SyncError.Code, _ hint: String, _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("no error, \(code) expected")
        } catch let error as SyncError {
            #expect(error.code == code, "\(error)")
            #expect(error.hint.map { hint.isEmpty || $0.contains(hint) } ?? false, "\(error)")
        } catch {
            Issue.record("\(error)")
        }
    }

    /// It serves, and what is committed arrives.
    private func expectAlive(_ daemon: TestDaemon, _ store: String) async throws {
        #expect(daemon.isRunning)
        let before = try await daemon.client.head(store)
        try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('still here')")
        var query = HistoryQuery()
        query.after = before
        #expect(try await daemon.client.history(store, matching: query).count == 1)
    }

    // MARK: Numbers

    @Test func aLeaseBeyondTheRangeIsRefused() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        for lease in [Int64.max, .max - 1, .max / 1000 + 1, .min] {
            await expect(.invalidArgument, "never expires") {
                try await daemon.client.register(store, consumer: "c", lease: .seconds(lease))
            }
        }
        try await daemon.client.register(store, consumer: "c", lease: Consumer.leaseMax)
        _ = try await daemon.client.consumers(store)
        try await expectAlive(daemon, store)
    }

    // MARK: The socket

    @Test func aSocketPathThatIsTooLongIsAConfigurationError() throws {
        let directory = try TemporaryFolder()
        let path = directory.file(String(repeating: "x", count: 120))
        let ended = try run(
            Programs.syncd.path,
            ["--user", "--socket", path, "--state", directory.file("state")])
        #expect(ended.status == 78)
        #expect(
            ended.errors.contains("107") && ended.errors.contains("shorter path"), "\(ended.errors)"
        )
    }

    @Test func theSocketOfALiveDaemonIsRefusedAndStaysItsOwn() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let second = try run(
            Programs.syncd.path,
            ["--user", "--socket", daemon.socket, "--state", daemon.directory.file("other")])
        #expect(second.status == 69)
        #expect(second.errors.contains("listens on this socket"), "\(second.errors)")
        #expect(second.errors.contains("synctool status"))
        try await expectAlive(daemon, store)
    }

    @Test func aStateDirectoryHasOneDaemon() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let second = try run(
            Programs.syncd.path,
            [
                "--user", "--socket", daemon.directory.file("other.sock"), "--state",
                daemon.directory.file("state"),
            ])
        #expect(second.status == 69)
        #expect(second.errors.contains("another syncd uses this state directory"))
        #expect(!FileManager.default.fileExists(atPath: daemon.directory.file("other.sock")))
        try await expectAlive(daemon, store)
        daemon.kill9()
        try await daemon.start()
        try await expectAlive(daemon, store)
    }

    private final class Holder: Sendable {
        let lock: Mutex<StateLock?>

        init(_ lock: StateLock) { self.lock = Mutex(lock) }
    }

    /// A daemon that was killed has its lock until the kernel is done with it.
    @Test func theLockIsWaitedFor() throws {
        let directory = try TemporaryFolder()
        let holder = Holder(try StateLock(ofDaemonIn: directory.path))
        #expect(throws: StartFailure.self) {
            try StateLock(ofDaemonIn: directory.path, waiting: .zero)
        }
        let ending = Thread {
            usleep(100_000)
            holder.lock.withLock { $0 = nil }
        }
        ending.start()
        _ = try StateLock(ofDaemonIn: directory.path, waiting: .seconds(60))
    }

    @Test func theSocketOfADeadDaemonIsReplaced() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        daemon.kill9()
        #expect(FileManager.default.fileExists(atPath: daemon.socket))
        try await daemon.start()
        try await expectAlive(daemon, store)
    }

    @Test func aFileInTheWayOfTheSocketIsLeftAlone() throws {
        let directory = try TemporaryFolder()
        let path = directory.file("syncd.sock")
        try "mine".write(toFile: path, atomically: true, encoding: .utf8)
        let ended = try run(
            Programs.syncd.path, ["--user", "--socket", path, "--state", directory.file("state")])
        #expect(ended.status == 69)
        #expect(ended.errors.contains("not a socket"), "\(ended.errors)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test func aStoppedDaemonLeavesNoSocketBehind() async throws {
        let daemon = try await TestDaemon()
        #expect(daemon.stop() == 0)
        #expect(!FileManager.default.fileExists(atPath: daemon.socket))
    }

    /// As soon as a client can connect: what is not yet there to take the signal gets it later.
    @Test(arguments: [false, true]) func aSignalInTheFirstMomentIsNotLost(reloads: Bool) throws {
        for _ in 0..<5 {
            let directory = try TemporaryFolder()
            try "".write(
                toFile: directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
            let daemon = Process()
            daemon.executableURL = Programs.syncd
            daemon.arguments = TestDaemon.arguments(directory)
            daemon.standardError = FileHandle.nullDevice
            try daemon.run()
            defer { daemon.terminateForGood() }
            let socket = directory.file("syncd.sock")
            while (try? RawSocket(socket)) == nil { try #require(daemon.isRunning) }
            if reloads { kill(daemon.processIdentifier, SIGHUP) }
            daemon.terminate()
            daemon.waitUntilExit()
            #expect(daemon.terminationReason == .exit && daemon.terminationStatus == 0)
            #expect(!FileManager.default.fileExists(atPath: socket))
        }
    }

    /// From the moment in which it is ignored, which is before the configuration is read.
    @Test func aReloadWhileTheDaemonStartsWaitsForIt() async throws {
        let directory = try TemporaryFolder()
        let log = directory.file("log")
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let store = directory.file("none.db")
        try "stores: [\(store), \(store)]".write(
            toFile: directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        let daemon = Process()
        daemon.executableURL = Programs.syncd
        daemon.arguments = TestDaemon.arguments(directory)
        daemon.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try daemon.run()
        defer { daemon.terminateForGood() }
        let pid = daemon.processIdentifier
        while try !survivesHangup(pid) { try #require(daemon.isRunning) }
        let socket = directory.file("syncd.sock")
        while (try? RawSocket(socket)) == nil {
            kill(pid, SIGHUP)
            usleep(1000)
            try #require(daemon.isRunning)
        }
        // It may have been quicker than this.
        kill(pid, SIGHUP)
        try await eventually("it reloads") {
            // What has no effect is named at the start, and at each reload.
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let reload = text.range(of: "reloaded")
            return reload.map { text[$0.upperBound...].contains("named twice") } ?? false
        }
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.split(separator: "reloaded")[0].contains("named twice"), "\(text)")
        daemon.terminate()
        daemon.waitUntilExit()
        #expect(daemon.terminationReason == .exit && daemon.terminationStatus == 0)
    }

    /// Whether SIGHUP is ignored, or caught already.
    private func survivesHangup(_ pid: Int32) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        return status.split(separator: "\n").contains { line in
            guard line.hasPrefix("SigIgn:") || line.hasPrefix("SigCgt:") else { return false }
            let mask = UInt64(line.dropFirst(7).drop { $0.isWhitespace }, radix: 16) ?? 0
            return mask & 1 << UInt64(SIGHUP - 1) != 0
        }
    }

    @Test func aDamagedListOfStoresIsAConfigurationError() throws {
        let directory = try TemporaryFolder()
        mkdir(directory.file("state"), 0o755)
        try "{".write(
            toFile: directory.file("state/stores.json"), atomically: true, encoding: .utf8)
        let ended = try run(
            Programs.syncd.path,
            ["--user", "--socket", directory.file("s"), "--state", directory.file("state")])
        #expect(ended.status == 78)
        #expect(ended.errors.contains("damaged"), "\(ended.errors)")
    }

    // MARK: Names and tokens

    @Test func unknownNamesAndTokensAreTypedErrors() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let client = daemon.client
        await expect(.unknownStore, "synctool track") { _ = try await client.status("/nowhere.db") }
        await expect(.noSuchFile, "path") {
            _ = try await client.track(daemon.directory.file("missing.db"))
        }
        await expect(.invalidArgument, "whole path") { _ = try await client.track("music.db") }
        await expect(.unknownEntity, "Album") {
            var query = HistoryQuery()
            query.entities = ["Nothing"]
            _ = try await client.history(store, matching: query)
        }
        await expect(.unknownEntity, "Album") {
            var options = SubscriptionOptions()
            options.filter.entities = ["Nothing"]
            for try await _ in client.subscribe(store, options: options) {}
        }
        let foreign = try Token("1.\(String(repeating: "0", count: 32)).1.5.0")
        await expect(.foreignHistory, "") {
            for try await _ in client.subscribe(store, after: foreign) {}
        }
        await expect(.unknownConsumer, "") {
            try await client.acknowledge(
                store, consumer: "nobody", upTo: try await client.head(store))
        }
        let raw = try RawSocket(daemon.socket)
        raw.write(
            #"{"method":"org.syncd.Store.History","parameters":{"store":"\#(store)","query":{"after":"junk"}}}"#
                + "\0")
        let answer = try #require(raw.message())
        #expect(answer.contains("org.syncd.Store.InvalidToken"), "\(answer)")
        raw.write(
            #"{"method":"org.syncd.Store.Subscribe","parameters":{"store":"\#(store)"}}"# + "\0")
        #expect(try #require(raw.message()).contains("ExpectedMore"))
        try await expectAlive(daemon, store)
    }

    /// The system ends a path there: it would name another file.
    @Test func aPathWithANULIsRefused() async throws {
        let daemon = try await TestDaemon()
        let (client, store) = (daemon.client, try await daemon.makeStore())
        let path = store + "\0x"
        await expect(.invalidArgument, "path") { _ = try await client.status(path) }
        await expect(.invalidArgument, "path") { _ = try await client.track(path) }
        await expect(.invalidArgument, "path") { _ = try await client.untrack(path) }
        await expect(.invalidArgument, "path") {
            _ = try await client.untrack(path, forget: true)
        }
        await expect(.invalidArgument, "path") { _ = try await client.history(path) }
        await expect(.invalidArgument, "path") {
            for try await _ in client.subscribe(path) {}
        }
        await expect(.invalidArgument, "path") { _ = try Store.open(path) }
        try await expectAlive(daemon, store)
    }

    @Test func whatIsNoDatabaseIsNotTracked() async throws {
        let daemon = try await TestDaemon()
        let text = daemon.directory.file("text.db")
        try String(repeating: "not a database ", count: 500)
            .write(toFile: text, atomically: true, encoding: .utf8)
        await expect(.notADatabase, "") { _ = try await daemon.client.track(text) }
        #expect(try await daemon.client.list().isEmpty)
    }

    // MARK: Bytes

    @Test func garbageEndsItsConnectionAndNoOther() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let good = try RawSocket(daemon.socket)
        for garbage in [
            "hello\0", "\0", "{}\0", "[1]\0", "{\"method\":7}\0", "{\"method\":\"x\"\0",
            String(repeating: "[", count: 100_000) + "\0", "\u{fffd}\0",
        ] {
            let raw = try RawSocket(daemon.socket)
            raw.write(garbage)
            #expect(raw.isClosed(), "\(garbage.prefix(20))")
        }
        good.write(#"{"method":"org.syncd.Store.List"}"# + "\0")
        #expect(try #require(good.message()).contains("music.db"))
        try await expectAlive(daemon, store)
    }

    @Test func halfAMessageHoldsNobodyUp() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let halves = try (0..<20).map { _ in try RawSocket(daemon.socket) }
        for half in halves { half.write(#"{"method":"org.syncd.Store.Li"#) }
        try await expectAlive(daemon, store)
        withExtendedLifetime(halves) {}
    }

    @Test func aHundredMegabytesAreNotTaken() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore()
        let raw = try RawSocket(daemon.socket)
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        var sent = raw.write(#"{"method":""#)
        for _ in 0..<100 {
            let count = raw.write(block)
            sent += count
            if count < block.count { break }
        }
        #expect(sent < 20 << 20)
        try await expectAlive(daemon, store)
        let memory = try run("/bin/grep", ["VmHWM", "/proc/\(daemon.pid)/status"]).output
        let kilobytes = Int(memory.split(separator: " ").dropLast().last ?? "") ?? .max
        #expect(kilobytes < 200_000, "\(memory)")
    }

    @Test func aClientThatNeverReadsIsOnlyItsOwnProblem() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 2000)
        let sleeper = try RawSocket(daemon.socket)
        sleeper.write(
            #"{"method":"org.syncd.Store.Subscribe","more":true,"parameters":{"store":"\#(store)"}}"#
                + "\0")
        let start = try await daemon.client.head(store)
        // Some 40 MB of notices, far beyond socket and queue.
        for round in 0..<20 {
            try sqlite3(store, "UPDATE Album SET Title = '\(round)' || hex(zeroblob(500))")
        }
        var query = HistoryQuery()
        query.after = start
        let count = try await daemon.client.count(store, matching: query)
        #expect(count.transactions == 20 && count.changes == 40_000)
        let memory = try run("/bin/grep", ["VmHWM", "/proc/\(daemon.pid)/status"]).output
        let kilobytes = Int(memory.split(separator: " ").dropLast().last ?? "") ?? .max
        #expect(kilobytes < 400_000, "\(memory)")
        try await expectAlive(daemon, store)
        withExtendedLifetime(sleeper) {}
    }
}
