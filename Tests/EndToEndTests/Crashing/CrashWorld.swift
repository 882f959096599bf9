import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// A ledger, a daemon, its writers and two clients, and round after round some of them are killed.
actor CrashWorld {
    private enum Part: CaseIterable { case daemon, watch, python, shell, counter, bulk, purge }

    private static let ledger = "ledger.db"
    private let scene: Scene
    private var random: SeededRandom
    private var running: [Part: Child] = [:]
    private var watchLog: FollowedLog
    private var pythonLog: FollowedLog
    private var watchToken: String?
    private var checkedToken: String?
    private var checked: Int64 = 0
    private var model = LedgerModel()
    private(set) var kills = 0

    var commits: Int { model.commits }

    init(_ scene: Scene, seed: UInt64) {
        self.scene = scene
        random = SeededRandom(seed: seed)
        watchLog = FollowedLog(scene, "watch.log")
        pythonLog = FollowedLog(scene, "python.log")
    }

    func start(journalMode: String) async throws {
        try await scene.sql(
            Self.ledger, "PRAGMA journal_mode = \(journalMode); " + LedgerWriters.schema)
        try await start(.daemon)
        try await scene.tool("track", Self.ledger).expectSuccess()
        try await start(.watch)
        try await start(.python)
        // Without a token a client begins now: give them one to go on from.
        let haveBegun = try await eventually(within: .seconds(60), every: .milliseconds(100)) {
            let text = try await scene.tool("status", Self.ledger, "--json").expectSuccess().text
            return text.contains("\"subscribers\":2")
        }
        try #require(haveBegun, "the clients did not start")
        try await scene.sql(Self.ledger, "INSERT INTO bulk(id, pad) VALUES (1, 'first')")
        try await scene.sql(Self.ledger, "DELETE FROM bulk")
        try await waitForClients(2)
        let first = try await newHistory()
        checkedToken = first.last?.token
        checked = first.last?.number ?? 0
        for number in [checked] {
            _ = watchLog.take(upTo: number)
            _ = pythonLog.take(upTo: number)
        }
        watchToken = checkedToken
    }

    // MARK: Parts

    private func start(_ part: Part) async throws {
        guard running[part]?.isRunning != true else { return }
        switch part {
        case .daemon: running[part] = try await scene.startDaemon()
        case .watch:
            // Insists on the daemon: alone it would see ends of commits that nobody keeps.
            try watchLog.trim()
            var arguments = ["watch", Self.ledger, "--json", "--socket", scene.socket]
            if let token = watchLog.lastToken ?? watchToken { arguments += ["--after", token] }
            running[part] = try scene.start(
                Binaries.synctool, arguments, appending: watchLog.url)
        case .python:
            running[part] = try scene.start(
                Binaries.python, Binaries.follower, Self.ledger, pythonLog.url.path)
        case .shell: running[part] = try LedgerWriters.startShell(scene, Self.ledger)
        case .counter: running[part] = try LedgerWriters.startPython(scene, Self.ledger)
        case .bulk: running[part] = try LedgerWriters.startBulk(scene, Self.ledger)
        case .purge:
            guard let checkedToken else { return }
            // By the daemon or not at all: alone, it would digest without the ends of commits that
            // the daemon has told clients of.
            running[part] = try scene.start(
                Binaries.synctool, "purge", Self.ledger, "--before", checkedToken, "--socket",
                scene.socket)
        }
    }

    private func kill(_ part: Part) async {
        guard let child = running.removeValue(forKey: part), child.isRunning else { return }
        await child.stop()
        kills += 1
    }

    func stop() async {
        for part in Part.allCases { await kill(part) }
    }

    // MARK: Rounds

    /// Writers write, some part or other is killed at random moments, at last all writers are; then
    /// everything that history and the clients tell is compared with the data.
    func round(_ number: Int) async throws {
        for part in [Part.shell, .counter, .bulk] where Int.random(in: 0..<4, using: &random) > 0 {
            try await start(part)
        }
        if Int.random(in: 0..<6, using: &random) == 0 { try await start(.purge) }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let pause = Int.random(in: 0...90, using: &random)
            try? await Task.sleep(for: .milliseconds(pause))
            let part = Part.allCases.randomElement(using: &random) ?? .daemon
            await kill(part)
            // Half of what is killed is back at once, half when the writers are dead.
            if part != .purge, Bool.random(using: &random) { try await start(part) }
        }
        for part in [Part.shell, .counter, .bulk] { await kill(part) }
        try await compare("round \(number)")
    }

    private func compare(_ name: String) async throws {
        for part in [Part.daemon, .watch, .python] { try await start(part) }
        let new = try await newHistory()
        try await waitForClients(new.last?.number ?? checked)
        for transaction in new { try model.apply(transaction) }
        try await model.check(scene, Self.ledger)
        let number = new.last?.number ?? checked
        try compare(watchLog.take(upTo: number), new, "watch")
        try compare(pythonLog.take(upTo: number), new, "Python")
        checked = number
        checkedToken = new.last?.token ?? checkedToken
        watchToken = checkedToken
    }

    private func newHistory() async throws -> [Recorded] {
        var arguments = ["history", Self.ledger, "--json", "--socket", scene.socket]
        if let checkedToken { arguments += ["--after", checkedToken] }
        return Recorded.all(try await scene.run(arguments).expectSuccess().text)
    }

    private func waitForClients(_ number: Int64) async throws {
        let all = try await eventually(within: .seconds(60), every: .milliseconds(10)) {
            try await start(.watch)
            try await start(.python)
            try watchLog.read()
            try pythonLog.read()
            return [watchLog, pythonLog].allSatisfy { log in
                (log.transactions.last?.number ?? checked) >= number
            }
        }
        try #require(
            all,
            """
            history ends at \(number), watch at \(watchLog.transactions.last?.number ?? checked), \
            Python at \(pythonLog.transactions.last?.number ?? checked)
            """)
    }

    /// What a client got, transaction by transaction, is what history says.
    private func compare(_ got: [Recorded], _ history: [Recorded], _ client: String) throws {
        let expected = Dictionary(uniqueKeysWithValues: history.map { ($0.number, $0.changes) })
        for transaction in got where expected[transaction.number] != transaction.changes {
            throw LedgerModel.Mismatch(
                description: "\(client) got \(transaction), history has "
                    + "\(expected[transaction.number]?.map { "\($0.kind) \($0.object)" } ?? [])")
        }
        guard got.map(\.number) == history.map(\.number) else {
            throw LedgerModel.Mismatch(
                description: "\(client) got \(got.map(\.number)), history has "
                    + "\(history.map(\.number))")
        }
    }

    /// The file is sound, and history as a whole still is what it was.
    func checkAtTheEnd() async throws {
        let verdict = try await scene.sql(Self.ledger, "PRAGMA integrity_check")
        #expect(verdict == "ok\n")
        try await scene.tool("doctor", Self.ledger).expectSuccess()
    }
}
