import Foundation
import SyncClient
import SyncTesting
import Testing

/// Programs that wait for no lock (a busy timeout of 0, the default of SQLite in C) are not refused
/// because a daemon follows their database, in any journal mode.
///
/// `SYNCD_NEIGHBOUR_ROUNDS=1000` runs as many writes and reads as the figures in docs/writers.md
/// say; `SYNCD_NEIGHBOUR_PAUSE=200` makes the pauses 200 ms each instead of random ones.
@Suite(.timeLimit(.minutes(20))) struct NeighbourTests {
    /// Prints how many writes and reads were refused, and how many writes were made.
    private static let program = """
        import random, sqlite3, sys, time
        path, rounds, pause, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
        random.seed(seed)
        wait = lambda: time.sleep(int(pause) / 1000 if pause else random.uniform(0, 0.3))
        c = sqlite3.connect(path, timeout=0, isolation_level=None)
        c.execute("PRAGMA synchronous = OFF")
        writes = reads = 0
        for i in range(rounds):
            wait()
            try: c.execute("UPDATE Album SET Title = ? WHERE AlbumId = 1", (str(i),))
            except sqlite3.OperationalError: writes += 1
            wait()
            try: c.execute("SELECT count(*) FROM Album").fetchall()
            except sqlite3.OperationalError: reads += 1
        print(writes, reads)
        """

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "WAL"])
    func noWriteAndNoReadIsRefused(_ mode: String) async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["SYNCD_NEIGHBOUR_ROUNDS"] ?? "30"
        let seed = TestSeed.drawn()
        let daemon = try await TestDaemon()
        let store = daemon.directory.file("music.db")
        try sqlite3(
            store,
            """
            PRAGMA journal_mode = \(mode);
            CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT);
            INSERT INTO Album VALUES (1, 'a');
            """)
        _ = try await daemon.client.track(store)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let ended = try run(
            "/usr/bin/python3",
            [
                "-c", Self.program, store, rounds, environment["SYNCD_NEIGHBOUR_PAUSE"] ?? "",
                "\(seed.value)",
            ])
        #expect(ended.output.trimmingCharacters(in: .whitespacesAndNewlines) == "0 0", "\(seed)")
        try await eventually("all is told") {
            try await seen.transactions.last?.number == daemon.client.head(store).number
        }
    }

    /// Inserts rows of its own from a number on; every third transaction is rolled back, some of
    /// them after pages were written to the file.
    private static let rollingBack = """
        import random, sqlite3, sys, time
        path, mode, first, rounds, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
        random.seed(seed)
        c = sqlite3.connect(path, timeout=60, isolation_level=None)
        for pragma in ("journal_mode = " + mode, "synchronous = OFF", "cache_size = 5",
                       "cache_spill = 5"):
            c.execute("PRAGMA " + pragma)
        for i in range(rounds):
            c.execute("BEGIN IMMEDIATE")
            for j in range(random.choice((1, 1, 1, 40))):
                c.execute("INSERT INTO Album VALUES (?, ?)",
                          (first + 50 * i + j, "x" * random.randrange(3000)))
            c.execute(random.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            time.sleep(random.choice((0, 0, 0.001, 0.003)))
        """

    /// What is read without locks is never of a transaction that is not committed, and nothing is
    /// left out.
    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "MEMORY"])
    func whatIsToldIsWhatWasCommitted(_ mode: String) async throws {
        let seed = TestSeed.drawn()
        let daemon = try await TestDaemon()
        let store = daemon.directory.file("music.db")
        try sqlite3(store, "CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT)")
        _ = try await daemon.client.track(store)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        let writers = try [1_000_000, 2_000_000].map { first in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
            process.arguments = [
                "-c", Self.rollingBack, store, mode, "\(first)", "150",
                "\(seed.value &+ UInt64(first))",
            ]
            try process.run()
            return process
        }
        try await eventually("the writers end", seconds: 120) {
            !writers.contains(where: \.isRunning)
        }
        #expect(writers.allSatisfy { $0.terminationStatus == 0 }, "\(seed)")
        let rows = try sqlite3(store, "SELECT 'Album/' || AlbumId FROM Album ORDER BY AlbumId")
            .split(separator: "\n").map(String.init)
        try await eventually("all is told") { seen.objects.count >= rows.count }
        #expect(seen.objects.sorted() == rows, "\(seed)")
        #expect(!daemon.log.contains("gone"), "\(seed): \(daemon.log)")
        let history = try await daemon.client.history(store)
        #expect(history.map(\.number) == seen.transactions.map(\.number), "\(seed)")
    }
}
