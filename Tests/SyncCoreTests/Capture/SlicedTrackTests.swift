import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Many tables are recorded in several transactions, and a call that ends in the middle is
/// continued.
@Suite struct SlicedTrackTests {
    private struct Killed: Error {}

    let folder: TemporaryFolder
    let path: String
    let db: PlainConnection

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("many.db")
        db = try PlainConnection(path)
        for number in 1...9 { try db.run("CREATE TABLE t\(number)(id INTEGER PRIMARY KEY, a)") }
    }

    /// A tracker that records one table in a slice.
    private func tracker(
        between: (@Sendable () throws -> Void)? = nil
    ) throws -> Tracker {
        var tracker = try Tracker(path: path)
        tracker.pace = TrackPace(
            tablesAtOnceMax: 2, sliceTime: .zero, pause: .zero, betweenSlices: between)
        return tracker
    }

    private func live() throws -> [String] {
        try db.strings("SELECT name FROM syncd_entity WHERE NOT retired ORDER BY name")
    }

    private var all: [String] { (1...9).map { "t\($0)" } }

    @Test func writersWriteBetweenTheSlices() throws {
        try db.run("PRAGMA busy_timeout = 0")
        let db = db
        let report = try tracker { try db.run("INSERT INTO t1(a) VALUES('x')") }.track()
        #expect(report.tracked == all)
        #expect(try tracker().verify().isEmpty)
        let rows = try db.integer("SELECT count(*) FROM t1")
        #expect(rows > 5)
        // The first slice has no table of the user.
        #expect(try db.integer("SELECT count(*) FROM syncd_log WHERE op = 9") == rows - 1)
    }

    @Test func killedCallIsReportedAndContinued() throws {
        let db = db
        #expect(throws: Killed.self) {
            try tracker {
                if try db.integer("SELECT count(*) FROM syncd_entity") == 4 { throw Killed() }
            }.track()
        }
        let done = try live()
        let left = all.filter { !done.contains($0) }
        #expect(left.count == 5)
        let findings = try tracker().verify()
        #expect(findings.map(\.problem) == left.map { _ in .newTable })
        #expect(findings.map(\.table) == left)
        let report = try tracker().track()
        #expect(report.tracked == all && report.repair == nil)
        #expect(try tracker().verify().isEmpty)
        #expect(try live() == all)
    }

    @Test func repairContinuesWhatWasKilled() throws {
        #expect(throws: Killed.self) { try tracker { throw Killed() }.track() }
        let report = try Tracker(path: path).repairCapture()
        #expect(report.findings.allSatisfy { $0.problem == .newTable })
        #expect(try live() == all)
        #expect(try tracker().verify().isEmpty)
    }

    @Test func schemaThatChangesBetweenTheSlicesIsReadAgain() throws {
        let db = db
        let report = try tracker {
            guard try db.strings("SELECT name FROM sqlite_schema WHERE name = 'later'").isEmpty
            else { return }
            try db.run(
                """
                CREATE TABLE later(a, b, c, d, e, f, PRIMARY KEY(a, b, c, d, e));
                DROP TABLE t9; ALTER TABLE t8 ADD COLUMN b;
                """)
        }.track()
        let tables = ["later"] + all.dropLast()
        #expect(report.tracked == tables)
        #expect(try live() == tables)
        #expect(try tracker().verify().isEmpty)
        try db.run("INSERT INTO later VALUES(1, 2, 3, 4, 5, 6); UPDATE t8 SET b = 1")
    }

    @Test func triggersThatAreDroppedBetweenTheSlicesAreReported() throws {
        let db = db
        let name = TriggerName(entity: 1, letter: "i").text
        _ = try tracker { try db.run("DROP TRIGGER IF EXISTS \(name)") }.track()
        #expect(try tracker().verify().map(\.problem) == [.triggersMissing([name])])
    }

    @Test func storeThatIsUntrackedBetweenTheSlicesEndsTheCall() throws {
        let path = path
        #expect(throws: SyncError(.notTracked, "")) {
            try tracker { _ = try Tracker(path: path).untrack() }.track()
        }
        #expect(try db.strings("SELECT name FROM sqlite_schema WHERE name GLOB 'syncd_*'").isEmpty)
    }

    /// Nothing in the file would say which options the rest has.
    @Test func tablesWithOptionsAreRecordedAtOnce() throws {
        let undo = Dictionary(uniqueKeysWithValues: all.map { ($0, CaptureOptions(undo: true)) })
        _ = try tracker { throw Killed() }.track(options: undo)
        #expect(try live() == all)
        #expect(try tracker().verify().isEmpty)
    }
}
