import CSQLite
import Foundation
import GRDB
import Glibc
import SyncTesting
import SyncValues
import Testing

@testable import SyncStorage

/// A database that others may write is opened so that its contents can do little.
@Suite(.serialized) struct ForeignFileTests {
    private let directory: TemporaryFolder
    private let path: String

    init() throws {
        directory = try TemporaryFolder()
        path = directory.file("a.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x)") }
        try queue.close()
    }

    private static let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

    @Test func anEndlessStatementIsEnded() throws {
        DatabaseOpener.limitForeignStatements(to: .milliseconds(200))
        defer { DatabaseOpener.limitForeignStatements(to: .zero) }
        chmod(path, 0o666)
        let queue = try DatabaseOpener.open(path)
        let start = ContinuousClock.now
        #expect(throws: DatabaseError.self) {
            try queue.read { try $0.execute(sql: Self.endless) }
        }
        // A trigger begins again with each row: that is no new statement.
        #expect(throws: DatabaseError.self) {
            try queue.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END;
                        WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                        INSERT INTO t(x) SELECT x FROM c;
                        """)
            }
        }
        #expect(ContinuousClock.now - start < .seconds(20))
        // Many short steps are no long one.
        let count = try queue.read { database in
            let cursor = try Int.fetchCursor(
                database,
                sql: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3000) "
                    + "SELECT x FROM c")
            var count = 0
            while try cursor.next() != nil {
                if count.isMultiple(of: 100) { usleep(20_000) }
                count += 1
            }
            return count
        }
        #expect(count == 3000)
    }

    @Test func anOwnDatabaseIsNotLimited() throws {
        chmod(path, 0o600)
        let queue = try DatabaseOpener.open(path)
        let limit = queue.inDatabase { sqlite3_limit($0.sqliteConnection, SQLITE_LIMIT_LENGTH, -1) }
        #expect(limit > ForeignFile.valueBytesMax)
        chmod(path, 0o666)
        let foreign = try DatabaseOpener.open(path)
        let lower = foreign.inDatabase {
            sqlite3_limit($0.sqliteConnection, SQLITE_LIMIT_LENGTH, -1)
        }
        #expect(lower == ForeignFile.valueBytesMax)
        #expect(throws: (any Error).self, "defensive") {
            try foreign.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA writable_schema = ON")
                try $0.execute(sql: "DELETE FROM sqlite_schema")
            }
        }
    }

    @Test func tablesAloneAreRead() throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write {
            try $0.execute(
                sql: """
                    CREATE VIEW v AS SELECT 1 AS x; CREATE TABLE fired(x);
                    CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO fired VALUES (1); END
                    """)
        }
        try queue.close()
        for purpose in [DatabaseOpener.Purpose.reading, .following] {
            let opened = try DatabaseOpener.open(path, for: purpose)
            #expect(throws: DatabaseError.self) {
                try opened.inDatabase { try Int.fetchOne($0, sql: "SELECT x FROM v") }
            }
        }
        let opened = try DatabaseOpener.open(path, for: .following)
        let fired = try opened.writeWithoutTransaction { database in
            try database.execute(sql: "INSERT INTO t(x) VALUES (1)")
            return try Int.fetchOne(database, sql: "SELECT count(*) FROM fired")
        }
        #expect(fired == 0)
    }

    @Test(arguments: ["-journal", "-wal", "-shm"])
    func aPipeBesideTheDatabaseIsRefused(_ ending: String) throws {
        mkfifo(path + ending, 0o600)
        #expect(throws: SyncError(.notADatabase, "")) { try DatabaseOpener.open(path) }
    }

    /// Without a check before: as when the pipe comes between the check and the opening.
    @Test(.timeLimit(.minutes(1))) func sqliteOpensNoPipe() throws {
        DatabaseOpener.refuseSpecialFiles()
        mkfifo(path + "-journal", 0o600)
        #expect(throws: DatabaseError.self) {
            let queue = try DatabaseQueue(path: path)
            _ = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
        }
    }
}
