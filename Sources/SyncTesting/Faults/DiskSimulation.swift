import SyncCore
import SyncMerge
import SyncReplica
import SyncStorage
import SyncValues

/// Two replicas of a store, one on a disk that fails: writers, digests, merges, collections, purges
/// and repairs, with a full disk, a failing sync or a power failure at a random operation.
///
/// What holds after each fault:
/// - a call that fails says what it was: `diskFull` or `ioError`, the path, and what to do;
/// - the database is sound, and the next call goes on;
/// - a commit that was acknowledged is there, also in the state that the disk has after a power
///   failure, and on every replica in the end. A power failure takes back nothing that was sent.
package final class DiskSimulation {
    /// How the disk fails.
    package enum Fault: String, CaseIterable, Sendable {
        case full, sync, power
    }

    /// How the database is written.
    package enum Mode: String, CaseIterable, Sendable {
        case wal, delete
    }

    private enum Step: CaseIterable {
        case write, writeMany, writeOther, exchange, exchangeOther, digest, purge, mend, collect
    }

    private let folder: TemporaryFolder
    private let otherFolder: TemporaryFolder
    private let disk: FaultyDisk
    private let remote: MemoryRemote
    private let path: String
    private let otherPath: String
    private let faults: [Fault]
    private var random: SeededRandom
    /// Commits that were acknowledged, here and at the other replica.
    private var acknowledged: Set<String> = []
    private var acknowledgedByOther: Set<String> = []
    private var tokenCount = 0
    /// How many calls met a fault, by fault and step.
    package private(set) var happened: [String: Int] = [:]

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL, num INTEGER);
        CREATE TABLE line(id INTEGER PRIMARY KEY, text TEXT UNIQUE,
          note INTEGER REFERENCES note(id) ON DELETE CASCADE);
        INSERT INTO note VALUES (1, 'first', 0);
        """

    /// - Parameter faults: those that happen.
    /// - Throws: what making the replicas throws, on a disk that works.
    package init(
        seed: UInt64, mode: Mode, faults: [Fault] = Fault.allCases, isSigning: Bool = true
    ) async throws {
        random = SeededRandom(seed: seed)
        self.faults = faults
        folder = try TemporaryFolder()
        otherFolder = try TemporaryFolder()
        path = folder.file("a.db")
        otherPath = otherFolder.file("b.db")
        guard let disk = FaultyDisk(folder.path) else {
            throw SimulationFailure("SQLite has no Unix layer")
        }
        self.disk = disk
        let connection = try PlainConnection(path, wal: mode == .wal)
        try connection.run(Self.schema)
        connection.close()
        try Store.track(path)
        let first = try StoreReplica(path)
        defer { try? first.close() }
        if isSigning { try first.startSigning() }
        remote = MemoryRemote(store: first.storeID)
        _ = try await Exchange(first, with: remote).sync()
        try StoreReplica.clone(at: otherPath, from: try first.batches(since: VersionVector()))
            .close()
    }

    /// Runs random steps, and then lets the replicas converge.
    /// - Throws: ``SimulationFailure``, and errors of calls that no fault explains.
    package func run(steps: Int) async throws {
        for fault in faults {
            arm(fault, after: 0)
            guard (try? write(path, count: 1)) == nil else {
                throw SimulationFailure("\(fault.rawValue) at the first operation reaches nothing")
            }
            try recover("\(fault.rawValue) at the first operation")
        }
        for number in 0..<steps {
            let step = random.pick(Step.allCases)
            let fault = random.chance(0.5) ? arm() : nil
            var isMet = false
            do {
                try await take(step)
            } catch let error as SyncError where fault != nil {
                isMet = true
                try judge(error, after: fault, "step \(number), \(step)")
            }
            if let fault, isMet || disk.isDead {
                happened["\(fault.rawValue) in \(step)", default: 0] += 1
            }
            try recover("step \(number), \(step), \(fault?.rawValue ?? "no fault")")
        }
        try await converge()
    }

    // MARK: Faults

    private func arm() -> Fault {
        let fault = random.pick(faults)
        let count = random.below(random.once(in: 4) ? 200 : 24)
        arm(fault, after: fault == .sync ? count / 8 : count)
        return fault
    }

    private func arm(_ fault: Fault, after count: Int) {
        switch fault {
        case .full: disk.fill(after: count)
        case .sync: disk.failSyncs(after: count)
        case .power: disk.losePower(after: count, seed: random.next())
        }
    }

    private func judge(_ error: SyncError, after fault: Fault?, _ place: String) throws {
        let expected: Set<SyncError.Code>
        switch fault {
        case .full: expected = [.diskFull]
        case .sync: expected = [.ioError]
        // Nobody reads what is said then.
        case .power, nil: return
        }
        guard expected.contains(error.code), error.hint != nil else {
            throw SimulationFailure("\(place): \(error.code), hint \(error.hint ?? "-"): \(error)")
        }
    }

    private func recover(_ place: String) throws {
        if disk.isDead {
            guard disk.restart() else {
                throw SimulationFailure("\(place): a file is open, or cannot be written")
            }
        }
        disk.heal()
        let connection = try PlainConnection(path)
        defer { connection.close() }
        let integrity = try connection.strings("PRAGMA integrity_check")
        guard integrity == ["ok"] else { throw SimulationFailure("\(place): \(integrity)") }
        guard try connection.rows("PRAGMA foreign_key_check").isEmpty else {
            throw SimulationFailure("\(place): foreign keys do not hold")
        }
        try require(acknowledged, in: connection, place)
    }

    private func require(
        _ tokens: Set<String>, in connection: PlainConnection, _ place: String
    ) throws {
        let present: [String]
        do {
            present = try connection.strings("SELECT text FROM note")
        } catch {
            throw SimulationFailure("\(place): \(error)")
        }
        let lost = tokens.subtracting(present)
        guard lost.isEmpty else { throw SimulationFailure("\(place): lost \(lost.sorted())") }
    }

    // MARK: Steps

    private func take(_ step: Step) async throws {
        switch step {
        case .write: try write(path, count: 1)
        case .writeMany: try write(path, count: 60)
        case .writeOther: try write(otherPath, count: 1)
        case .exchange: try await exchange(path)
        case .exchangeOther: try await exchange(otherPath)
        case .digest: try withStore { while try $0.digest() {} }
        case .purge: try withStore { _ = try $0.purge(beyond: HistoryLimits(bytes: 2_000)) }
        case .mend: try Store.mend(path, comparing: true)
        case .collect:
            let replica = try StoreReplica(path)
            defer { try? replica.close() }
            try replica.collect()
        }
    }

    /// A commit of another program; the default of SQLite for syncs, as it has.
    private func write(_ path: String, count: Int) throws {
        let connection = try PlainConnection(path)
        defer { connection.close() }
        tokenCount += 1
        let token = "token \(tokenCount)"
        try connection.run("PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA; BEGIN IMMEDIATE")
        do {
            try connection.run("INSERT INTO note(text, num) VALUES ('\(token)', 0)")
            for index in 0..<count {
                let text = "line \(random.below(40)) \(index)"
                try connection.run(
                    """
                    INSERT OR REPLACE INTO line(text, note)
                    VALUES ('\(text)', (SELECT max(id) FROM note));
                    UPDATE note SET num = num + 1 WHERE id = 1
                    """)
            }
            try connection.run("DELETE FROM line WHERE id % 7 = \(random.below(7))")
            try connection.run("COMMIT")
        } catch {
            try? connection.run("ROLLBACK")
            throw error
        }
        if path == otherPath {
            acknowledgedByOther.insert(token)
        } else if !disk.isDead {
            acknowledged.insert(token)
        }
    }

    private func exchange(_ path: String) async throws {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        if path == otherPath {
            _ = try await Exchange(replica, with: remote).sync()
            try requireAllHere(replica)
        } else {
            _ = try await Exchange(replica, with: MortalRemote(remote, of: disk)).sync()
        }
    }

    private func requireAllHere(_ replica: StoreReplica) throws {
        guard try replica.waiting.isEmpty else { throw SimulationFailure("changes wait") }
    }

    private func withStore(_ body: (Store) throws -> Void) throws {
        let store = try Store.open(path)
        defer { try? store.close() }
        try body(store)
    }

    // MARK: The end

    private func converge() async throws {
        for _ in 0..<3 {
            try await exchange(path)
            try await exchange(otherPath)
        }
        let connections = try [path, otherPath].map { try PlainConnection($0) }
        defer { for connection in connections { connection.close() } }
        for connection in connections {
            try require(acknowledged.union(acknowledgedByOther), in: connection, "in the end")
        }
        for sql in [
            "SELECT text, num FROM note ORDER BY 1, 2",
            """
            SELECT line.text, note.text FROM line LEFT JOIN note ON note.id = line.note
            ORDER BY 1, 2
            """,
        ] {
            guard try connections[0].rows(sql) == connections[1].rows(sql) else {
                throw SimulationFailure("the replicas differ in: \(sql)")
            }
        }
        try withStore { store in
            let findings = try store.verifyCapture()
            guard findings.isEmpty else { throw SimulationFailure("\(findings)") }
        }
    }
}
