import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// Transactions beyond every message: each client gets them, once, in order, in parts.
@Suite(.timeLimit(.minutes(10)), .serialized) struct LargeTransactionTests {
    /// More than 16 MiB as JSON, the largest message that a client takes, and more objects than are
    /// assembled in memory.
    private static let rows = 60_000
    private static let table = "entity_" + String(repeating: "x", count: 110)

    private func makeStore(_ daemon: TestDaemon) async throws -> String {
        let path = daemon.directory.file("large.db")
        try sqlite3(
            path,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE \(Self.table)(id INTEGER PRIMARY KEY, n);
            CREATE TABLE file(id INTEGER PRIMARY KEY, name TEXT, content BLOB);
            INSERT INTO file VALUES (1, 'large', zeroblob(13000000));
            """)
        _ = try await daemon.client.track(path)
        try sqlite3(path, "UPDATE file SET name = 'first' WHERE id = 1")
        return path
    }

    /// Runs a program that takes seconds on a thread of its own: those of the tests are few.
    @discardableResult
    private func runAside(
        _ program: String, _ arguments: [String], input: String? = nil, socket: String = ""
    ) async throws -> Ended {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try run(
                            program, arguments, input: input,
                            environment: ["SYNCD_SOCKET": socket])
                    })
            }
        }
    }

    private func writeLarge(_ path: String, from first: Int = 1) async throws {
        let ended = try await runAside(
            "/usr/bin/sqlite3", ["-bail", path],
            input: """
                .timeout 30000
                WITH RECURSIVE n(i) AS (SELECT \(first) UNION ALL
                  SELECT i + 1 FROM n WHERE i < \(first + Self.rows - 1))
                INSERT INTO \(Self.table) SELECT i, i FROM n;
                """)
        #expect(ended.status == 0, "\(ended.errors)")
    }

    private func expectLarge(_ parts: [Transaction], from first: Int = 1) {
        #expect(parts.filter(\.isComplete).count == 1 && parts.last?.isComplete == true)
        let keys = parts.flatMap(\.changes).map(\.object.key)
        #expect(keys == (first..<first + Self.rows).map { ObjectKey(.integer(Int64($0))) })
    }

    /// The resident memory of the daemon in MiB, now and at its highest since ``forgetPeak(_:)``.
    private func memory(_ daemon: TestDaemon) throws -> (now: Int, peak: Int) {
        let status = try String(contentsOfFile: "/proc/\(daemon.pid)/status", encoding: .utf8)
        func value(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first
                .flatMap { Int($0) }.map { $0 / 1024 } ?? 0
        }
        return (value("VmRSS"), value("VmHWM"))
    }

    @Test func everySubscriberGetsALargeTransactionInParts() async throws {
        let daemon = try await TestDaemon()
        let path = try await makeStore(daemon)
        let before = try await daemon.client.head(path)
        var options = SubscriptionOptions()
        let whole = Collector(daemon.client.subscribe(path, options: options))
        options.joining = .none
        let parts = Collector(daemon.client.subscribe(path, options: options))
        options.filter.entities = ["file"]
        let filtered = Collector(daemon.client.subscribe(path, options: options))
        for collector in [whole, parts, filtered] { try await collector.begun() }
        let idle = try memory(daemon).now

        try await writeLarge(path)
        try sqlite3(path, "INSERT INTO file(name) VALUES ('after')")
        for collector in [whole, parts, filtered] {
            try await eventually("the transaction after it", seconds: 300) {
                if let error = collector.error { throw error }
                return collector.transactions.last?.changes.last?.object.path == "file/2"
            }
        }
        #expect(whole.transactions.count == 2 && whole.transactions[0].part == nil)
        expectLarge([whole.transactions[0]])
        let received = parts.transactions.dropLast()
        #expect(received.compactMap(\.part?.index) == Array(received.indices))
        #expect(received.allSatisfy { $0.changes.count <= 1000 })
        expectLarge(Array(received))
        #expect(filtered.objects == ["file/2"])

        let late = Collector(daemon.client.subscribe(path, after: before))
        try await eventually("what was missed", seconds: 300) { late.transactions.count == 2 }
        #expect(late.transactions == whole.transactions)
        // The whole of it as one message took some hundred MiB.
        #expect(try memory(daemon).peak < idle + 100)
    }

    @Test func everyCommandShowsALargeTransaction() async throws {
        let daemon = try await TestDaemon()
        let path = try await makeStore(daemon)
        let before = try await daemon.client.head(path)
        try await writeLarge(path)
        try sqlite3(path, "DELETE FROM file")
        func tool(_ arguments: String...) async throws -> [Substring] {
            let ended = try await runAside(
                Programs.synctool.path, arguments, socket: daemon.socket)
            #expect(ended.status == 0, "\(arguments): \(ended.errors)")
            return ended.output.split(separator: "\n")
        }
        let history = try await tool("history", path, "--json", "--after", before.description)
        let direct = try await tool(
            "history", path, "--json", "--after", before.description, "--direct")
        #expect(history == direct)
        let watched = try await tool(
            "watch", path, "--json", "--after", before.description, "--limit", "2")
        #expect(watched.dropFirst() == history[...])
        #expect(history.count > Self.rows / 1000)
        #expect(history.allSatisfy { $0.utf8.count < 2 << 20 })
        let last = try #require(history.last)
        #expect(last.contains(#""content":{"ref":{"#) && last.contains(#""size":13000000"#))

        let text = try await tool("history", path, "--after", before.description)
        #expect(text.count == 24)
        #expect(text[21].contains("and \(Self.rows - 20) more changes"))
        #expect(text.last?.contains("content (blob, 13 MB)") == true)
        let newestFirst = try await tool("history", path, "--reverse", "--limit", "2")
        #expect(newestFirst.count == 24 && newestFirst[1].contains("- file/1"))
        #expect(newestFirst[3].contains(Self.table))
    }

    @Test func aLargeValueIsFetchedInSlices() async throws {
        let daemon = try await TestDaemon()
        let path = try await makeStore(daemon)
        try sqlite3(path, "UPDATE file SET content = randomblob(3000000)")
        let hex = try sqlite3(path, "SELECT hex(content) FROM file")
        var options = SubscriptionOptions()
        options.hold = [try ObjectName(path: "file/1")]
        let collector = Collector(daemon.client.subscribe(path, options: options))
        try await collector.begun()
        try sqlite3(path, "DELETE FROM file")
        try await eventually("the delete") { collector.heldNotices.count == 1 }
        let gone = collector.notices.compactMap {
            if case .gone(let gone) = $0 { gone.tombstone } else { nil }
        }
        let shown = try #require(collector.transactions.first?.changes.first?.tombstone)
        #expect(gone == [shown])
        let reference = try #require(shown.reference("content"))
        #expect(shown["name"] == .text("first"))
        var sizes: [Int] = []
        try await daemon.client.forEachSlice(of: reference, in: path) { sizes.append($0.count) }
        #expect(sizes == [1 << 20, 1 << 20, 3_000_000 - 2 << 20])
        let value = try await daemon.client.value(reference, in: path)
        guard case .blob(let bytes) = value else { throw Failure("not a blob: \(value)") }
        #expect(bytes.map { String(format: "%02X", $0) }.joined() == hex)
    }

    /// The daemon is killed between two parts: what was read is not read again.
    @Test func aReaderGoesOnInsideOfALargeTransaction() async throws {
        let daemon = try await TestDaemon()
        let path = try await makeStore(daemon)
        let before = try await daemon.client.head(path)
        try await writeLarge(path)
        var options = SubscriptionOptions(after: before)
        options.joining = .none
        options.hold = [try ObjectName(path: "\(Self.table)/5")]
        let gate = Gate()
        let collector = Collector(daemon.client.subscribe(path, options: options), gate: gate)
        try await collector.begun()
        daemon.kill9()
        gate.open()
        try await eventually("some parts arrive, or the connection is lost") {
            collector.error != nil || collector.notices.count >= 1
        }
        try await daemon.start()
        try await eventually("the last part", seconds: 300) {
            if let error = collector.error { throw error }
            return collector.transactions.last?.isComplete == true
        }
        expectLarge(collector.transactions)
        #expect(collector.heldNotices.count == 1)
    }

    /// A client of another language, without a library.
    private static let rawClient = """
        import json, socket, sys
        path, store, token, stop = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
        s = socket.socket(socket.AF_UNIX); s.connect(path)
        s.sendall(json.dumps({"method": "org.syncd.Store.Subscribe", "more": True,
            "parameters": {"store": store, "after": token}}).encode() + b"\\0")
        buffer, count, parts, largest, keys = b"", 0, 0, 0, []
        while True:
            data = s.recv(1 << 20)
            if not data: sys.exit("closed")
            buffer += data
            *messages, buffer = buffer.split(b"\\0")
            for message in messages:
                largest = max(largest, len(message))
                reply = json.loads(message)["parameters"]
                transaction = reply.get("transaction")
                if not transaction: continue
                parts += 1
                part = transaction.get("part")
                assert part is None or part["index"] == parts - 1, part
                assert (part is None or part["isLast"]) == ("token" in reply), reply.keys()
                keys += [c["object"].split("/")[1] for c in transaction["changes"]]
                if parts == stop or "token" in reply:
                    print(json.dumps([parts, largest, keys == [str(i + 1) for i in range(len(keys))],
                        len(keys), "token" in reply]))
                    sys.exit()
        """

    @Test func anyVarlinkClientReadsParts() async throws {
        let daemon = try await TestDaemon()
        let path = try await makeStore(daemon)
        let before = try await daemon.client.head(path).description
        try await writeLarge(path)
        func read(stoppingAfter parts: Int) async throws -> String {
            let ended = try await runAside(
                "/usr/bin/python3",
                ["-c", Self.rawClient, daemon.socket, path, before, "\(parts)"])
            return ended.output.trimmingCharacters(in: .whitespacesAndNewlines) + ended.errors
        }
        // It leaves in the middle, and begins again with the last token.
        let some = try await read(stoppingAfter: 3)
        #expect(some.hasSuffix("true, 3000, false]"), "\(some)")
        let all = try await read(stoppingAfter: 0)
        #expect(all.hasSuffix("true, \(Self.rows), true]"), "\(all)")
        let largest = all.split(separator: ",").dropFirst().first.flatMap {
            Int($0.trimmingCharacters(in: .whitespaces))
        }
        #expect((largest ?? .max) < 2 << 20)
    }

    /// A call for one page: it goes on inside of the transaction.
    @Test func pagesContinueInsideOfATransaction() async throws {
        let daemon = try await TestDaemon()
        let path = try await makeStore(daemon)
        try await writeLarge(path)
        let client = """
            import json, socket, sys
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
            after, inside, keys, pages, ends = None, None, [], 0, 0
            while True:
                parameters = {"store": sys.argv[2], "query": {"after": after, "entities": [sys.argv[3]]},
                    "inside": inside}
                s.sendall(json.dumps({"method": "org.syncd.Store.History",
                    "parameters": parameters}).encode() + b"\\0")
                message = b""
                while not message.endswith(b"\\0"): message += s.recv(1 << 20)
                reply = json.loads(message[:-1])
                page = reply["parameters"]
                pages += 1
                for transaction in page["transactions"]:
                    keys += [c["object"].split("/")[1] for c in transaction["changes"]]
                    ends += transaction.get("part", {"isLast": True})["isLast"]
                after, inside = page.get("next", after), page.get("inside")
                if "next" not in page and not inside: break
            print(pages > 5, ends, keys == [str(i + 1) for i in range(len(keys))], len(keys))
            """
        let ended = try await runAside(
            "/usr/bin/python3", ["-c", client, daemon.socket, path, Self.table])
        #expect(ended.output == "True 1 True \(Self.rows)\n", "\(ended.errors)")
    }
}
