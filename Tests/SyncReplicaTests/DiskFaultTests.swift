import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A disk that is full, whose syncs fail, or whose power fails, at any operation. `make faults`
/// runs more seeds.
@Suite("Failing disks", .serialized, .timeLimit(.minutes(15)))
struct DiskFaultTests {
    private typealias Fault = DiskSimulation.Fault

    @Test(
        "nothing acknowledged is lost, and all goes on", arguments: TestSeed.first(1),
        DiskSimulation.Mode.allCases)
    func simulation(_ seed: TestSeed, _ mode: DiskSimulation.Mode) async throws {
        do {
            let simulation = try await DiskSimulation(
                seed: seed.value, mode: mode, isSigning: seed.value % 2 == 0)
            try await simulation.run(steps: 20)
        } catch {
            Issue.record("\(seed), \(mode): \(error)")
        }
    }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO note VALUES (1, 'one'), (2, 'two');
        """

    /// A call at each of its operations: refused there, and then done.
    private func atEachOperation(
        _ fault: DiskSimulation.Fault, prepare: (String) throws -> Void = { _ in },
        _ call: (String) throws -> Void
    ) throws {
        for count in stride(from: 1, to: 400, by: fault == .power ? 2 : 1) {
            let folder = try TemporaryFolder()
            let path = folder.file("a.db")
            let disk = try #require(FaultyDisk(folder.path))
            let connection = try PlainConnection(path, wal: count % 2 == 0)
            // Without it SQLite itself may take back a commit whose journal was removed.
            try connection.run("PRAGMA synchronous = EXTRA")
            try connection.run(Self.schema)
            connection.close()
            try prepare(path)
            switch fault {
            case .full: disk.fill(after: count)
            case .sync: disk.failSyncs(after: count)
            case .power: disk.losePower(after: count, seed: UInt64(count))
            }
            var isDone = false
            do {
                try call(path)
                isDone = true
            } catch let error as SyncError where fault != .power {
                #expect(error.code == (fault == .full ? .diskFull : .ioError), "\(count): \(error)")
                #expect(error.hint != nil, "\(count): \(error)")
                #expect(error.path == path, "\(count): \(error)")
            } catch is SyncError {
            }
            let died = disk.isDead
            if died { #expect(disk.restart()) }
            disk.heal()
            let check = try PlainConnection(path)
            #expect(try check.strings("PRAGMA integrity_check") == ["ok"], "\(count)")
            #expect(try check.integer("SELECT count(*) FROM note") == 2, "\(count)")
            check.close()
            if !isDone || died {
                // What was done before the power failed is not done again.
                do {
                    try call(path)
                } catch let error as SyncError {
                    #expect(died && error.code == .notTracked, "\(count): \(error)")
                }
            }
            if isDone, !died { return }
        }
        Issue.record("the call has more operations than that")
    }

    @Test("tracking is whole or not there", arguments: DiskSimulation.Fault.allCases)
    func tracking(_ fault: DiskSimulation.Fault) throws {
        try atEachOperation(fault) { path in
            try Store.track(path)
            let store = try Store.open(path)
            defer { try? store.close() }
            #expect(try store.verifyCapture().isEmpty)
        }
    }

    @Test("untracking is whole or not done", arguments: DiskSimulation.Fault.allCases)
    func untracking(_ fault: DiskSimulation.Fault) throws {
        try atEachOperation(fault, prepare: { try Store.track($0) }) { path in
            try Store.untrack(path)
            let connection = try PlainConnection(path)
            defer { connection.close() }
            #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") == 1)
        }
    }
}
