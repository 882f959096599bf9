import Foundation
import SyncClient
import SyncCore

/// The tour: a daemon of its own, a copy of a database, other processes that write, and a client
/// that hears of it. Every line that it shows comes from what really happened.
struct Tour {
    /// The database to copy; nil: a small one of its own.
    let original: String?
    private let narrator = Narrator()

    func run() async throws {
        if let original, !FileManager.default.fileExists(atPath: original) {
            throw SyncError(
                .noSuchFile, "there is no such file", path: original,
                hint: "Run the tour on its own database: synctool demo")
        }
        let name = original.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "music.db"
        let scene = try TourScene(named: name)
        defer { scene.close() }
        do {
            try await play(scene)
        } catch let error as SyncError {
            let log = scene.daemonLog
            if error.code == .unreachable, !log.isEmpty { try? Terminal.error.line(log) }
            throw error
        }
    }

    private func play(_ scene: TourScene) async throws {
        let subjects = try await prepare(scene)
        let store = StoreClient(socket: scene.socket)
        let client = TourClient()
        try await track(scene, store)
        try await hold(scene, client, subjects)
        try await change(scene, client, subjects)
        try await delete(scene, client, subjects)
        try await crash(scene, client, subjects)
        try await history(scene, store, client)
        await client.stop()
    }

    // MARK: Acts

    private func prepare(_ scene: TourScene) async throws -> TourSubjects {
        try narrator.title("syncd: a tour with real processes, in a temporary folder")
        guard let original else {
            try await scene.sqlite("PRAGMA journal_mode = WAL; " + TourSubjects.ownSchema)
            return .own
        }
        try await scene.copy(original)
        // The copy may: in WAL mode the daemon sees where each commit ends, also of writers that do
        // not sign.
        try await scene.sqlite("PRAGMA journal_mode = WAL")
        return try await SubjectSearch(query: { try await scene.sqlite($0) }).subjects()
    }

    private func track(_ scene: TourScene, _ store: StoreClient) async throws {
        try narrator.act(
            1, "A database is tracked. Its tables stay as they are; writers need nothing.")
        try await scene.startDaemon()
        try await daemonAnswers(scene, store)
        try narrator.command("synctool track \(Shell.quoted(scene.database))")
        let tables = try await store.track(scene.path).tables
        let left = tables.filter { !$0.isTracked && !$0.name.hasPrefix("sqlite_") }
        let names = tables.filter(\.isTracked).map(\.name)
        try narrator.shown(["\(Plural.text(names.count, "table")) tracked: \(Self.list(names))"])
        try narrator.shown(TableText.lines(left, indent: ""))
        await narrator.pause()
    }

    private func hold(
        _ scene: TourScene, _ client: TourClient, _ subjects: TourSubjects
    ) async throws {
        try narrator.act(2, "A client subscribes, and says which objects it holds.")
        let held = try subjects.held.map { try HistoryQuery.ObjectName(path: $0) }
        try await client.start(socket: scene.socket, store: scene.path, holding: held)
        try narrator.say("It holds \(Self.list(subjects.held)).")
        await narrator.pause()
    }

    private func change(
        _ scene: TourScene, _ client: TourClient, _ subjects: TourSubjects
    ) async throws {
        try narrator.act(
            3, "Another process changes one of them: the sqlite3 shell, which knows nothing of us.")
        try narrator.command(
            "sqlite3 \(Shell.quoted(scene.database)) \(Shell.quoted(subjects.update))")
        try await scene.sqlite(subjects.update)
        try narrator.heard(
            try await client.next(until: { if case .changed = $0 { true } else { false } }))
        await narrator.pause()
    }

    private func delete(
        _ scene: TourScene, _ client: TourClient, _ subjects: TourSubjects
    ) async throws {
        let signer = Signer(scene: scene)
        try narrator.act(4, "A third process deletes another one, and signs: \(signer.program).")
        try narrator.command(signer.shown(subjects.delete))
        try await signer.run(subjects.delete)
        // The whole transaction has come when the last held object that it deletes is gone.
        let gone = subjects.held.count - 1
        for _ in 0..<gone {
            try narrator.heard(
                try await client.next(until: { if case .gone = $0 { true } else { false } }))
        }
        try narrator.say("The values are kept: nothing has to be guessed, and it can be undone.")
        await narrator.pause()
    }

    private func crash(
        _ scene: TourScene, _ client: TourClient, _ subjects: TourSubjects
    ) async throws {
        try narrator.act(5, "syncd is killed. Others go on writing; nobody is told.")
        try narrator.command("kill -9 $(pidof syncd)")
        scene.killDaemon()
        for statement in subjects.away {
            try narrator.command(
                "sqlite3 \(Shell.quoted(scene.database)) \(Shell.quoted(statement))")
            try await scene.sqlite(statement)
        }
        await narrator.pause()
        try narrator.say("It starts again. The client comes back by itself, with its token:")
        try await scene.startDaemon()
        let missed = try await caughtUp(scene, client)
        try narrator.heard(missed)
        if missed.contains(where: Self.isCoalesced) {
            try narrator.say(
                "What was written while nobody watched is one transaction, marked coalesced:")
            try narrator.say("boundaries are never guessed, and no change is lost.")
        }
        await narrator.pause()
    }

    private func history(
        _ scene: TourScene, _ store: StoreClient, _ client: TourClient
    ) async throws {
        try narrator.act(6, "All of it stands in the database's own history.")
        try narrator.command("synctool history \(Shell.quoted(scene.database))")
        let history = try await store.history(scene.path)
        for transaction in history { try narrator.shown(TransactionText().lines(transaction)) }
        let received = await client.transactions
        guard received.map(\.token) == history.map(\.token) else {
            throw SyncError(
                .internalFault,
                "the client got \(received.map(\.number)), history has \(history.map(\.number))",
                operation: "demo", hint: "Please report it")
        }
        try narrator.say(
            "The client received these \(history.count) transactions:"
                + " each once, in order, none missed.")
        await narrator.pause()
        try Terminal.output.line()
        try narrator.title("Now yours:")
        try narrator.say("syncd --user &                  a daemon of your own")
        try narrator.say(
            "synctool track FILE             nothing in your tables changes; untrack undoes it")
        try narrator.say("synctool watch FILE             and write to it from wherever you like")
    }

    // MARK: Helpers

    private func daemonAnswers(_ scene: TourScene, _ store: StoreClient) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            do {
                _ = try await store.list()
                return
            } catch let error as SyncError where error.code == .unreachable {
                guard ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// What came until the client stands where history ends.
    private func caughtUp(_ scene: TourScene, _ client: TourClient) async throws -> [Notice] {
        let store = StoreClient(socket: scene.socket)
        try await daemonAnswers(scene, store)
        let head = try await store.head(scene.path)
        return try await client.next(until: { notice in
            if case .transaction(let transaction) = notice {
                transaction.token == head
            } else {
                false
            }
        })
    }

    private static func isCoalesced(_ notice: Notice) -> Bool {
        guard case .transaction(let transaction) = notice else { return false }
        return transaction.flags.contains(.coalesced)
    }

    /// `A, B, C and 8 more`
    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(6).joined(separator: ", ")
        return names.count > 6 ? shown + " and \(names.count - 6) more" : shown
    }
}
