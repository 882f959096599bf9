import Foundation
import SyncClient
import SyncCore

/// The tour: a private daemon, a copy of a database, other processes that write, and a client that
/// receives notices. All output is real.
struct Tour {
    /// The database to copy; nil: a small sample.
    let original: String?
    private let narrator = Narrator()

    func run() async throws {
        if let original, !FileManager.default.fileExists(atPath: original) {
            throw SyncError(
                .noSuchFile, "no such file", path: original,
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
        try await track(in: scene, with: store)
        try await hold(subjects, in: scene, with: client)
        try await change(subjects, in: scene, with: client)
        try await delete(subjects, in: scene, with: client)
        try await crash(in: scene, with: client, meanwhile: subjects)
        try await history(in: scene, of: store, with: client)
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
        // In WAL mode the daemon sees where each commit ends, also of writers that do not sign.
        try await scene.sqlite("PRAGMA journal_mode = WAL")
        return try await SubjectSearch(query: { try await scene.sqlite($0) }).subjects()
    }

    private func track(in scene: TourScene, with store: StoreClient) async throws {
        try narrator.act(
            1, title: "A database is tracked. Its tables are not altered; writers need no change.")
        try await scene.startDaemon()
        try await waitForDaemon(store)
        try narrator.command("synctool track \(Shell.quoted(scene.database))")
        let tables = try await store.track(scene.path).tables
        let left = tables.filter { !$0.isTracked && !$0.name.hasPrefix("sqlite_") }
        let names = tables.filter(\.isTracked).map(\.name)
        try narrator.shown(["\(Plural.text(names.count, of: "table")) tracked: \(Self.list(names))"]
        )
        try narrator.shown(TableText.lines(left, indent: ""))
        await narrator.pause()
    }

    private func hold(
        _ subjects: TourSubjects, in scene: TourScene, with client: TourClient
    ) async throws {
        try narrator.act(2, title: "A client subscribes and names the objects that it holds.")
        let held = try subjects.held.map { try ObjectName(path: $0) }
        try await client.start(socket: scene.socket, store: scene.path, holding: held)
        try narrator.say("It holds \(Self.list(subjects.held)).")
        await narrator.pause()
    }

    private func change(
        _ subjects: TourSubjects, in scene: TourScene, with client: TourClient
    ) async throws {
        try narrator.act(
            3, title: "Another process changes one of them: the sqlite3 shell, without any setup.")
        try narrator.command(
            "sqlite3 \(Shell.quoted(scene.database)) \(Shell.quoted(subjects.update))")
        try await scene.sqlite(subjects.update)
        try narrator.received(
            try await client.next(until: { if case .changed = $0 { true } else { false } }))
        await narrator.pause()
    }

    private func delete(
        _ subjects: TourSubjects, in scene: TourScene, with client: TourClient
    ) async throws {
        let signer = Signer(scene: scene)
        try narrator.act(
            4, title: "A third process deletes another one and signs: \(signer.program).")
        try narrator.command(signer.shown(subjects.delete))
        try await signer.run(subjects.delete)
        // The whole transaction has come when the last held object that it deletes is gone.
        let gone = subjects.held.count - 1
        for _ in 0..<gone {
            try narrator.received(
                try await client.next(until: { if case .gone = $0 { true } else { false } }))
        }
        try narrator.say("The deleted values are kept, and the delete can be undone.")
        await narrator.pause()
    }

    private func crash(
        in scene: TourScene, with client: TourClient, meanwhile subjects: TourSubjects
    ) async throws {
        try narrator.act(5, title: "syncd is killed. Others continue to write; nobody is notified.")
        try narrator.command("kill -9 $(pidof syncd)")
        scene.killDaemon()
        for statement in subjects.away {
            try narrator.command(
                "sqlite3 \(Shell.quoted(scene.database)) \(Shell.quoted(statement))")
            try await scene.sqlite(statement)
        }
        await narrator.pause()
        try narrator.say("syncd starts again. The client reconnects and resumes from its token:")
        try await scene.startDaemon()
        let missed = try await catchUp(client, in: scene)
        try narrator.received(missed)
        if missed.contains(where: Self.isCoalesced) {
            try narrator.say(
                "Commits made while syncd was down are one transaction, marked coalesced:")
            try narrator.say("commit boundaries are never guessed, and no change is lost.")
        }
        await narrator.pause()
    }

    private func history(
        in scene: TourScene, of store: StoreClient, with client: TourClient
    ) async throws {
        try narrator.act(6, title: "All of it is in the database's own history.")
        try narrator.command("synctool history \(Shell.quoted(scene.database))")
        let history = try await store.history(scene.path)
        for transaction in history { try narrator.shown(TransactionText().lines(transaction)) }
        let received = await client.transactions
        guard received.map(\.token) == history.map(\.token) else {
            throw SyncError(
                .internalFault,
                "the client received \(received.map(\.number)), the history has "
                    + "\(history.map(\.number))",
                operation: "demo", hint: "Please report it with the output of: synctool doctor")
        }
        try narrator.say(
            "The client received these \(history.count) transactions:"
                + " each once and in order.")
        await narrator.pause()
        try Terminal.output.line()
        try narrator.title("Now with your own database:")
        try narrator.say("syncd --user &                  start a daemon for yourself")
        try narrator.say(
            "synctool track FILE             record its history; synctool untrack removes it")
        try narrator.say("synctool watch FILE             then write to it from any program")
    }

    // MARK: Helpers

    private func waitForDaemon(_ store: StoreClient) async throws {
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

    /// The notices until the client has reached the end of the history.
    private func catchUp(_ client: TourClient, in scene: TourScene) async throws -> [Notice] {
        let store = StoreClient(socket: scene.socket)
        try await waitForDaemon(store)
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
