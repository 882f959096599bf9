import Foundation
import SyncTesting
import Testing

@testable import SyncCore

@Suite("Transaction boundaries")
struct BoundaryReaderTests {
    /// A writer, a reader, a checkpointer and a trimmer on one store, stepped by one seed.
    private final class Model {
        let folder: TemporaryFolder
        let path: String
        let writer: PlainConnection
        let helper: PlainConnection
        var tail: PlainConnection
        var reader: BoundaryReader
        var numbers: SeededRandom
        /// The last seq of each transaction that appended to the log.
        var truth: [Int64] = []
        var found: [Boundary] = []
        var digested: Int64 = 0

        init(seed: TestSeed, mode: String = "WAL", pageSize: Int = 4096) throws {
            folder = try TemporaryFolder()
            path = folder.path + "/a.db"
            numbers = seed.random
            writer = try PlainConnection(path)
            try writer.run("PRAGMA page_size=\(pageSize); PRAGMA journal_mode=\(mode)")
            try writer.run("PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=0")
            try writer.makeLog()
            helper = try PlainConnection(path)
            try helper.run("PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF")
            tail = try PlainConnection(path)
            reader = try BoundaryReader(tail.handle)
            try look()
        }

        func look() throws {
            reader.willRead()
            try tail.run("BEGIN")
            let newest = try tail.integer("SELECT max(seq) FROM syncd_log")
            let boundaries = try reader.boundaries(after: digested)
            try tail.run("COMMIT")
            #expect(boundaries.transactions.last?.last ?? digested == max(newest, digested))
            // The owner may take over only some of them.
            let count = Int.random(in: 0...boundaries.transactions.count, using: &numbers)
            for boundary in boundaries.transactions.prefix(count) {
                found.append(boundary)
                digested = boundary.last
            }
        }

        var exactCount: Int { found.count { $0.isExact } }

        func finish() throws {
            reader.willRead()
            try tail.run("BEGIN; SELECT max(seq) FROM syncd_log")
            let rest = try reader.boundaries(after: digested).transactions
            try tail.run("COMMIT")
            found += rest
            digested = rest.last?.last ?? digested
        }

        func transaction() throws {
            try writer.run("BEGIN IMMEDIATE")
            let kind = Int.random(in: 0..<20, using: &numbers)
            let count =
                switch kind {
                case 0: 2_000
                case 1..<4: 60
                default: Int.random(in: 1...6, using: &numbers)
                }
            for step in 0..<count {
                if kind == 4 || kind == 5 {
                    try writer.run("INSERT INTO other(x) VALUES (randomblob(300))")
                    continue
                }
                let row = Int.random(in: 1...500, using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: try writer.run("UPDATE t SET n = n + 1 WHERE id = \(row)")
                case 1: try writer.run("DELETE FROM t WHERE id = \(row)")
                default:
                    try writer.run("INSERT INTO t(a, n) VALUES (hex(randomblob(\(row % 90))), 1)")
                }
                if kind == 6, step == 0 {
                    try writer.run(
                        "SAVEPOINT s; INSERT INTO t(a) VALUES (hex(zeroblob(900)));"
                            + "ROLLBACK TO s; RELEASE s"
                    )
                }
            }
            if kind == 7 { return try writer.run("ROLLBACK") }
            try writer.run("COMMIT")
            let newest = try writer.integer("SELECT max(seq) FROM syncd_log")
            if newest > truth.last ?? 0 { truth.append(newest) }
        }

        /// What the digest does with rows that it has taken over: all but the newest go.
        func trim() throws {
            try helper.run(
                "DELETE FROM syncd_log WHERE seq <= \(digested)"
                    + " AND seq < (SELECT max(seq) FROM syncd_log)"
            )
        }

        /// Every boundary is one of the truth, and an exact one follows the one before it.
        func check(sourceLocation: SourceLocation = #_sourceLocation) {
            var previous: Int64 = 0
            var places: [Int64: Int] = [:]
            for (place, last) in truth.enumerated() { places[last] = place }
            for boundary in found {
                guard let place = places[boundary.last] else {
                    Issue.record(
                        "no transaction ends at \(boundary.last)", sourceLocation: sourceLocation)
                    return
                }
                if boundary.isExact {
                    #expect(
                        place == 0 || truth[place - 1] == previous,
                        "merged into \(boundary.last)", sourceLocation: sourceLocation)
                }
                previous = boundary.last
            }
            #expect(previous == truth.last ?? 0, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: TestSeed.each(of: 1...6))
    func everyBoundaryIsExactWhileAttached(seed: TestSeed) throws {
        let model = try Model(seed: seed, pageSize: [512, 4096, 65_536][Int(seed.value % 3)])
        for step in 0..<600 {
            try model.transaction()
            let chance = Int.random(in: 0..<100, using: &model.numbers)
            if chance < 30 { try model.look() }
            if chance < 8 { try model.trim() }
            if chance == 50 { try model.helper.run("VACUUM") }
            if chance > 80 {
                // A reset can only hide what the reader has not seen when it happens twice between
                // two looks.
                try model.look()
                try model.helper.run(
                    "PRAGMA wal_checkpoint(\(["PASSIVE", "RESTART", "TRUNCATE"][step % 3]))")
            }
        }
        try model.finish()
        model.check()
        #expect(model.exactCount == model.found.count, "\(seed)")
        let lasts = model.found.map(\.last)
        #expect(lasts == model.truth, "\(seed)")
    }

    /// The reader looks seldom and is made again now and then: what it cannot tell apart, it says.
    @Test(arguments: TestSeed.each(of: 11...18))
    func whatCannotBeToldApartIsSaid(seed: TestSeed) throws {
        let model = try Model(seed: seed)
        for step in 0..<500 {
            try model.transaction()
            switch Int.random(in: 0..<100, using: &model.numbers) {
            case 0..<10: try model.look()
            case 10..<14: try model.trim()
            case 14..<20:
                try model.helper.run(
                    "PRAGMA wal_checkpoint(\(["PASSIVE", "RESTART", "TRUNCATE"][step % 3]))")
            case 20:
                model.tail = try PlainConnection(model.path)
                model.reader = try BoundaryReader(model.tail.handle)
            case 21: try model.helper.run("VACUUM")
            default: break
            }
        }
        try model.finish()
        model.check()
        #expect(model.exactCount > 0)
    }

    /// Before the first checkpoint of its WAL the database file tells where the log ended when the
    /// WAL began.
    @Test(arguments: TestSeed.each(of: 31...34))
    func aNewReaderFindsAllCommitsOfTheWal(seed: TestSeed) throws {
        let model = try Model(seed: seed)
        for round in 0..<6 {
            for _ in 0..<30 { try model.transaction() }
            // Odd rounds: the old reader saw all of them. Even rounds: one step may be of several
            // transactions.
            let hasRest = round % 2 == 0
            if hasRest { try model.finish() }
            try model.helper.run("PRAGMA wal_checkpoint(RESTART)")
            for _ in 0..<60 { try model.transaction() }
            model.tail = try PlainConnection(model.path)
            model.reader = try BoundaryReader(model.tail.handle)
            let before = model.found.count
            try model.finish()
            let inexact = model.found.dropFirst(before).count { !$0.isExact }
            #expect(inexact == (hasRest ? 0 : 1), "\(seed), round \(round)")
        }
        model.check()
    }

    /// What the database file has of the log when the WAL begins.
    enum LogInFile: CaseIterable {
        case missing, kept, emptyAndRemade, remade
    }

    /// The schema is another in the WAL than in the file: where the log ended in the file is said by
    /// the file. Only when the log was made once more it is not known.
    @Test(arguments: [0, 1, 300], LogInFile.allCases)
    func aNewReaderKnowsWhereTheLogEndedInTheFile(tables: Int, log: LogInFile) throws {
        for format in ["512; PRAGMA encoding = 'UTF-8'", "65536; PRAGMA encoding = 'UTF-16'"] {
            try checkNewReader(tables: tables, log: log, format: format)
        }
    }

    private func checkNewReader(tables: Int, log: LogInFile, format: String) throws {
        let folder = try TemporaryFolder()
        let writer = try PlainConnection(folder.file("a.db"))
        try writer.run("PRAGMA page_size = \(format); PRAGMA journal_mode = WAL")
        for number in 0..<tables { try writer.run("CREATE TABLE t\(number)(a, b UNIQUE)") }
        if log != .missing { try writer.makeLog() }
        if log == .kept || log == .remade {
            try writer.run("INSERT INTO t(id) VALUES (100), (101)")
        }
        try writer.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0")
        if log == .emptyAndRemade || log == .remade {
            for table in ["t", "other", "syncd_log"] { try writer.run("DROP TABLE \(table)") }
        }
        try writer.run("CREATE TABLE later(a)")
        if log != .kept { try writer.makeLog() }
        for _ in 0..<3 {
            try writer.run("BEGIN; INSERT INTO t(a) VALUES ('x'), ('y'); COMMIT")
        }
        let tail = try PlainConnection(folder.file("a.db"))
        let reader = try BoundaryReader(tail.handle)
        reader.willRead()
        try tail.run("BEGIN")
        let found = try reader.boundaries(after: 0).transactions
        try tail.run("COMMIT")
        if log == .kept {
            #expect(found.map(\.last) == [2, 4, 6, 8])
            #expect(found.map(\.isExact) == [false, true, true, true])
        } else {
            #expect(found.map(\.last) == [2, 4, 6])
            #expect(found.map(\.isExact) == [log != .remade, true, true])
        }
    }

    /// A WAL that was made on a big-endian machine goes on with that machine's checksums.
    @Test func aBigEndianWalIsRead() throws {
        let model = try Model(seed: TestSeed(41))
        for _ in 0..<40 { try model.transaction() }
        let copy = model.folder.path + "/b.db"
        try FileManager.default.copyItem(atPath: model.path, toPath: copy)
        var wal = [UInt8](
            try Data(contentsOf: URL(fileURLWithPath: model.path + "-wal")))
        BigEndianWal.convert(&wal, pageSize: 4096)
        try Data(wal).write(to: URL(fileURLWithPath: copy + "-wal"))

        let writer = try PlainConnection(copy)
        try writer.run("PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF")
        let newest = try model.writer.integer("SELECT max(seq) FROM syncd_log")
        #expect(try writer.integer("SELECT max(seq) FROM syncd_log") == newest)
        let tail = try PlainConnection(copy)
        let reader = try BoundaryReader(tail.handle)
        #expect(reader.index?.header()?.isBigEndian == true)
        var found: [Boundary] = []
        func look() throws {
            reader.willRead()
            try tail.run("BEGIN; SELECT max(seq) FROM syncd_log")
            found += try reader.boundaries(after: found.last?.last ?? newest).transactions
            try tail.run("COMMIT")
        }
        try look()
        for step in 1...200 {
            try writer.run("INSERT INTO t(a) VALUES ('x')")
            // The frames after the last look stand behind those of the next generation.
            if step % 20 == 15 { try writer.run("PRAGMA wal_checkpoint(RESTART)") }
            if step % 20 == 19 { try look() }
        }
        try look()
        #expect(found.map(\.last) == Array(newest + 1...newest + 200))
        #expect(found.allSatisfy { $0.isExact })
    }

    /// A checkpoint of a WAL without a frame begins a generation of which the wal-index knows no
    /// page size until the first commit.
    @Test func aGenerationThatBeganEmptyIsRead() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.db"
        var writer = try PlainConnection(path)
        try writer.run("PRAGMA journal_mode=WAL")
        try writer.makeLog()
        writer.close()
        writer = try PlainConnection(path)
        let tail = try PlainConnection(path)
        let reader = try BoundaryReader(tail.handle)
        func look() throws -> [Boundary] {
            reader.willRead()
            try tail.run("BEGIN; SELECT max(seq) FROM syncd_log")
            defer { try? tail.run("COMMIT") }
            return try reader.boundaries(after: 0).transactions
        }
        #expect(try look().isEmpty)
        try writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(try look().isEmpty)
        for _ in 0..<2 { try writer.run("INSERT INTO syncd_log(op) VALUES (1)") }
        #expect(
            try look() == [Boundary(last: 1, isExact: true), Boundary(last: 2, isExact: true)])
    }

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST"])
    func theChangeCounterTellsOneCommitFromSeveral(mode: String) throws {
        let model = try Model(seed: TestSeed(21), mode: mode)
        for step in 0..<200 {
            try model.transaction()
            if step % 3 != 0 { try model.look() }
        }
        try model.finish()
        model.check()
        #expect((1..<model.found.count).contains(model.exactCount))
    }
}
