import Foundation
import Testing

/// Statements so large that SQLite spills their journal: a limit it can not spill says "disk full"
/// (see `DatabaseOpener.statementJournalBytes`), in the process that set it.
@Suite("Large statements", .timeLimit(.minutes(3)))
struct LargeStatementTests {
    @Test func aPurgeOfManyWideKeysIsNoFullDisk() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "keys.db", "PRAGMA journal_mode = wal; CREATE TABLE item(key TEXT PRIMARY KEY, n)")
            try await scene.tool("track", "keys.db").expectSuccess()
            let rows = """
                INSERT INTO item WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c
                LIMIT 30000) SELECT hex(randomblob(30)), n FROM c;
                """
            try await scene.sql("keys.db", rows + "DELETE FROM item;" + rows)
            try await scene.tool("purge", "keys.db", "--direct").expectSuccess()
            try await scene.sql("keys.db", "INSERT INTO item VALUES ('last', 0)")
            let listing = try await scene.tool(
                "history", "keys.db", "--direct", "--json", "--reverse", "--limit", "1"
            ).expectSuccess()
            let last = try #require(Recorded.all(listing.text).first)
            try await scene.tool("purge", "keys.db", "--direct", "--before", last.token)
                .expectSuccess()
            try await scene.tool("doctor", "keys.db", "--direct").expectSuccess()
            #expect(try await scene.sql("keys.db", "SELECT count(*) FROM syncd_change") == "1\n")
        }
    }
}
