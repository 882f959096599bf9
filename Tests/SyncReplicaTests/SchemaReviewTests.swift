import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// What of a received schema may be made.
@Suite("The review of a received schema")
struct SchemaReviewTests {
    private static let base = [
        SchemaObject(
            .table, name: "note",
            sql:
                "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, n INTEGER, at TEXT)",
            isTracked: true),
        SchemaObject(
            .table, name: "log", sql: "CREATE TABLE log(id INTEGER PRIMARY KEY, what TEXT)"),
        SchemaObject(
            .virtualTable, name: "fts",
            sql:
                "CREATE VIRTUAL TABLE fts USING fts5(title, body, content='note', content_rowid='id')"
        ),
    ]

    /// An object of a statement, as its sender would state it.
    private static func object(_ sql: String) throws -> SchemaObject {
        let words = SQLTokens(sql).tokens.map(\.text)
        func name(after word: String) -> String {
            let place = words.firstIndex { SQLName.isEqual($0, to: word) } ?? 0
            return place + 1 < words.count ? SQLName.unquoted(words[place + 1]) : "x"
        }
        let kinds: [(String, SchemaObject.Kind)] = [
            ("VIRTUAL", .virtualTable), ("TRIGGER", .trigger), ("VIEW", .view), ("INDEX", .index),
            ("TABLE", .table),
        ]
        let head = words.prefix(4).map { $0.uppercased() }
        let kind = try #require(kinds.first { head.contains($0.0) } ?? kinds.last)
        return SchemaObject(
            kind.1, name: name(after: kind.1 == .virtualTable ? "TABLE" : kind.0),
            table: kind.1 == .trigger || kind.1 == .index ? name(after: "ON") : nil, sql: sql)
    }

    private static func review(
        _ statements: [String], consents: Bool = false
    ) throws -> SchemaReview {
        try SchemaReview(
            SchemaContent(base + statements.map(object)), consents: consents)
    }

    private static let hostile = [
        // Something else than it says.
        "ATTACH DATABASE '/tmp/x' AS x",
        "CREATE VIEW v AS SELECT 1; ATTACH DATABASE '/tmp/x' AS x",
        "CREATE VIEW v AS SELECT 1 /* ; */ ; DROP TABLE note",
        "CREATE VIEW v AS SELECT 1 -- \n; DELETE FROM note",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE TEMP TRIGGER t AFTER INSERT ON note BEGIN SELECT 1; END",
        "CREATE TABLE x AS SELECT * FROM note",
        "PRAGMA writable_schema = 1",
        "INSERT INTO sqlite_schema VALUES ('view', 'v', 'v', 0, 'CREATE VIEW v AS SELECT 1')",
        "CREATE VIEW v AS SELECT 1\u{0}",
        "EXPLAIN CREATE VIEW v AS SELECT 1",
        "VACUUM INTO '/tmp/x'",
        "DROP TABLE note",
        // Names.
        "CREATE VIEW syncd_meta AS SELECT 1",
        "CREATE VIEW SYNCD_x AS SELECT 1",
        "CREATE VIEW \"sqlite_x\" AS SELECT 1",
        "CREATE VIEW pragma_table_list AS SELECT 1",
        "CREATE TABLE pragma_index_list(a)",
        "CREATE VIEW json_each AS SELECT 1",
        "CREATE TRIGGER syncd_t AFTER INSERT ON note BEGIN SELECT 1; END",
        "CREATE TRIGGER t AFTER INSERT ON syncd_log BEGIN SELECT 1; END",
        "CREATE TABLE syncd_x(a)",
        "CREATE TABLE k(a REFERENCES syncd_log(nope))",
        "CREATE TABLE k(a, FOREIGN KEY (a) references \"SYNCD_log\")",
        "CREATE TABLE k(a REFERENCES [sqlite_schema](name))",
        // What views read and call.
        "CREATE VIEW v AS SELECT load_extension('x')",
        "CREATE VIEW v AS SELECT readfile('/etc/passwd')",
        "CREATE VIEW v AS SELECT writefile('/tmp/x', 'y')",
        "CREATE VIEW v AS SELECT fts3_tokenizer('simple')",
        "CREATE VIEW v AS SELECT * FROM pragma_database_list",
        "CREATE VIEW v AS SELECT * FROM sqlite_master",
        "CREATE VIEW v AS SELECT * FROM sqlite_schema",
        "CREATE VIEW v AS SELECT * FROM syncd_key",
        "CREATE VIEW v AS SELECT * FROM x.note",
        "CREATE VIEW v AS SELECT * FROM nothing",
        "CREATE VIEW v AS SELECT nothing FROM note",
        "CREATE VIEW v AS SELECT sqlite_source_id(), sqlite_compileoption_get(1)",
        "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT * FROM c",
        "CREATE VIEW v AS SELECT * FROM v",
        "CREATE VIEW v AS SELECT * FROM fts_data",
        // What triggers write.
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM note; END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE note SET title = 'x'; END",
        "CREATE TRIGGER t AFTER DELETE ON note BEGIN INSERT INTO note(title) VALUES ('x'); END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO syncd_txn(author) VALUES ('x'); END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO sqlite_schema VALUES (1,1,1,1,1); END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO log(what) SELECT load_extension('x'); END",
        "CREATE TRIGGER t AFTER INSERT ON note WHEN load_extension('x') BEGIN SELECT 1; END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO log(what) SELECT name FROM pragma_database_list; END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO nothing VALUES (1); END",
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE fts_data SET block = 1; END",
        "CREATE TRIGGER t AFTER INSERT ON nothing BEGIN SELECT 1; END",
        // Virtual tables.
        "CREATE VIRTUAL TABLE z USING csv(filename='/etc/passwd')",
        "CREATE VIRTUAL TABLE z USING fts5(a, content='syncd_key')",
        "CREATE VIRTUAL TABLE z USING fts5(a, content='sqlite_schema')",
        "CREATE VIRTUAL TABLE z USING fts5(a, tokenize='evil')",
        "CREATE VIRTUAL TABLE z USING fts4(a, compress=load_extension, uncompress=load_extension)",
        "CREATE VIRTUAL TABLE z USING fts5(a /* x */)",
        "CREATE VIRTUAL TABLE z USING fts5vocab(fts, row)",
        "CREATE VIRTUAL TABLE z USING dbstat(main)",
        "CREATE VIRTUAL TABLE syncd_z USING fts5(a)",
        "CREATE VIRTUAL TABLE z USING fts5(a, unknown=1)",
        "CREATE VIRTUAL TABLE z USING fts4(a, tokenize=icu)",
        // Indexes and tables.
        "CREATE INDEX i ON note(load_extension(title))",
        "CREATE INDEX i ON syncd_log(ts)",
        "CREATE TABLE x(a DEFAULT (load_extension('x')))",
        "CREATE TABLE x(a CHECK (a IN (SELECT 1)))",
    ]

    @Test("a hostile text is refused by name, with a reason", arguments: hostile)
    func refuses(_ sql: String) throws {
        let review = try Self.review([sql])
        #expect(Set(review.accepted) == Set(Self.base))
        let refused = try #require(review.refused.first)
        #expect(review.refused.count == 1 && refused.sql == sql && !refused.reason.isEmpty)
        // Consent makes what is only unwelcome, and nothing of what reaches further.
        let made = try Self.review([sql], consents: true)
        #expect(made.refused.isEmpty == refused.needsConsent, "\(refused.reason)")
    }

    private static let legitimate = [
        "CREATE VIEW v AS SELECT * FROM note",
        "CREATE VIEW v(a, b) AS SELECT id, title FROM note WHERE at IS NULL ORDER BY id DESC LIMIT 5",
        "CREATE VIEW \"a view; -- \" AS SELECT count(*) AS n, max(n), group_concat(title, ', ') FROM note",
        "CREATE VIEW v AS SELECT n.title, l.what FROM note n LEFT JOIN log l ON l.id = n.id",
        "CREATE VIEW v AS SELECT title, row_number() OVER (PARTITION BY n ORDER BY at) AS r FROM note",
        "CREATE VIEW v AS SELECT sum(n) OVER w, lag(title) OVER w FROM note WINDOW w AS (ORDER BY id)",
        "CREATE VIEW v AS WITH a AS (SELECT id FROM note), b AS (SELECT id FROM a) SELECT * FROM a, b",
        "CREATE VIEW v AS SELECT j.value FROM note, json_each(note.body) AS j",
        "CREATE VIEW v AS SELECT strftime('%Y', at) y, json_extract(body, '$.a'), body ->> '$.b' FROM note",
        "CREATE VIEW v AS SELECT title FROM note UNION ALL SELECT what FROM log EXCEPT SELECT 'x'",
        "CREATE VIEW v AS SELECT count(*) FROM note",
        "CREATE VIEW v AS /* why */ SELECT CASE WHEN n > 1 THEN 'many' ELSE printf('%d', n) END FROM note",
        "CREATE VIEW v AS SELECT rowid, rank FROM fts WHERE fts MATCH 'x'",
        "CREATE VIEW v AS SELECT * FROM note WHERE EXISTS (SELECT 1 FROM log WHERE what = note.title)",
        "CREATE VIEW v AS SELECT lower(title) || upper(body), round(n * 1.5, 2), abs(n) FROM note",
        """
        CREATE TRIGGER t AFTER INSERT ON note BEGIN
          INSERT INTO fts(rowid, title, body) VALUES (new.id, new.title, new.body); END
        """,
        """
        CREATE TRIGGER t AFTER DELETE ON note BEGIN
          INSERT INTO fts(fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body); END
        """,
        """
        CREATE TRIGGER t AFTER UPDATE ON note BEGIN
          INSERT INTO fts(fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
          INSERT INTO fts(rowid, title, body) VALUES (new.id, new.title, new.body); END
        """,
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO log(what) VALUES (new.title); END",
        "CREATE TRIGGER t AFTER UPDATE OF title, n ON note WHEN old.n <> new.n "
            + "BEGIN INSERT INTO log(what) VALUES (old.n || ' to ' || new.n); END",
        "CREATE TRIGGER t BEFORE INSERT ON note WHEN length(new.title) = 0 BEGIN SELECT RAISE(ABORT, 'empty'); END",
        "CREATE TRIGGER t BEFORE DELETE ON note BEGIN SELECT RAISE(IGNORE) WHERE old.n = 1; END",
        "CREATE TRIGGER t AFTER DELETE ON note BEGIN DELETE FROM log WHERE what = old.title; UPDATE log SET what = 'x'; END",
        "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log WHERE id < new.id - 100; END",
        "CREATE TRIGGER \"t \"\"q\"\" \" AFTER INSERT ON \"note\" BEGIN INSERT INTO log(id, what) "
            + "VALUES (last_insert_rowid(), 'x') ON CONFLICT(id) DO UPDATE SET what = excluded.what; END",
        "CREATE VIRTUAL TABLE z USING fts5(a, b UNINDEXED, tokenize='porter unicode61 remove_diacritics 2', prefix='2 3')",
        "CREATE VIRTUAL TABLE z USING fts5(\"a b\", content='', columnsize=0, detail=none)",
        "CREATE VIRTUAL TABLE z USING fts4(title, body, content=\"note\", tokenize=unicode61 \"remove_diacritics=0\")",
        "CREATE VIRTUAL TABLE z USING fts3(subject TEXT, body TEXT, tokenize=porter)",
        "CREATE VIRTUAL TABLE z USING rtree(id, minx, maxx, miny, maxy, +label TEXT)",
        "CREATE VIRTUAL TABLE z USING rtree_i32(id, a, b)",
        "CREATE INDEX i ON note(lower(title)) WHERE at IS NULL",
        "CREATE UNIQUE INDEX i ON log(what COLLATE NOCASE)",
        "CREATE TABLE nokey(a, b DEFAULT CURRENT_TIMESTAMP, c AS (a || b))",
        "CREATE TABLE strict(k TEXT PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID",
    ]

    @Test("what people have in their schemas is accepted as it is", arguments: legitimate)
    func accepts(_ sql: String) throws {
        let review = try Self.review([sql])
        #expect(review.refused.isEmpty, "\(review.refused.map(\.reason))")
        #expect(review.accepted.map(\.sql).contains(sql))
    }

    @Test("a trigger that writes tracked tables, and recursion, need consent")
    func needsConsent() throws {
        for sql in [
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE note SET at = 'now' WHERE id = new.id; END",
            "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) SELECT * FROM c",
        ] {
            #expect(try Self.review([sql]).refused.map(\.needsConsent) == [true])
            #expect(try Self.review([sql], consents: true).refused.isEmpty)
        }
        let view = "CREATE VIEW v AS SELECT id, title FROM note"
        let instead =
            "CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN INSERT INTO note(title) VALUES (new.title); END"
        #expect(try Self.review([instead, view]).refused.map(\.needsConsent) == [true])
        #expect(try Self.review([instead, view], consents: true).refused.isEmpty)
    }

    @Test("the order does not matter; what refers to something that is not made is not made")
    func ordersObjects() throws {
        let views = (1...30).map {
            "CREATE VIEW v\($0) AS SELECT * FROM \($0 == 1 ? "note" : "v\($0 - 1)")"
        }
        let review = try Self.review(views.reversed())
        #expect(review.refused.isEmpty)
        let places = views.map { sql in review.accepted.firstIndex { $0.sql == sql } ?? -1 }
        #expect(places == places.sorted())

        let broken = try Self.review([
            "CREATE VIEW b AS SELECT * FROM a", "CREATE VIEW a AS SELECT * FROM syncd_key",
            "CREATE TRIGGER c AFTER INSERT ON note BEGIN INSERT INTO log(what) SELECT title FROM b; END",
        ])
        #expect(broken.refused.map(\.name) == ["b", "a", "c"])
        #expect(Set(broken.accepted) == Set(Self.base))
    }

    @Test(
        "a text that stands for gigabytes is refused before SQLite expands it",
        .timeLimit(.minutes(5)))
    func refusesBombs() throws {
        // Each view names the one before it twice: 2^60 tables.
        let views = (1...60).map { number in
            let before = number == 1 ? "note" : "v\(number - 1)"
            return "CREATE VIEW v\(number) AS SELECT a.* FROM \(before) AS a, \(before) AS b"
        }
        let review = try Self.review(views)
        #expect(review.refused.count > 30 && review.accepted.count > Self.base.count)
        // The same inside one text.
        let tables = (1...60).map { "t\($0) AS (SELECT 1 FROM t\($0 - 1) a, t\($0 - 1) b)" }
        let common =
            "CREATE VIEW v AS WITH t0 AS (SELECT 1), \(tables.joined(separator: ", ")) SELECT * FROM t60"
        let huge = "CREATE VIEW v AS SELECT " + String(repeating: "'x', ", count: 40_000) + "1"
        let deep =
            "CREATE VIEW v AS SELECT " + String(repeating: "(", count: 5_000) + "1"
            + String(repeating: ")", count: 5_000)
        let sum =
            "CREATE VIEW v AS SELECT " + Array(repeating: "1", count: 2_000).joined(separator: "+")
        let unions =
            "CREATE VIEW v AS "
            + Array(repeating: "SELECT 1", count: 2_000)
            .joined(separator: " UNION ALL ")
        for sql in [common, huge, deep, sum, unions] {
            #expect(try Self.review([sql]).refused.map(\.needsConsent) == [false])
        }
        let name = "CREATE VIEW \"\(String(repeating: "n", count: 2_000))\" AS SELECT 1"
        #expect(try Self.review([name]).refused.count == 1)
    }

    @Test("an added column is a column and nothing else")
    func addedColumns() throws {
        let content = SchemaContent([
            SchemaObject(
                .table, name: "t",
                sql: """
                    CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'x', b CHECK (b > 0), c UNIQUE,
                      d NOT NULL, e DEFAULT (random()), f REFERENCES t(id), g AS (a || b), h DEFAULT 1 NOT NULL)
                    """, isTracked: true)
        ])
        let theirs = try #require(try SchemaReview(content, consents: false).tables.first)
        let before = SchemaContent([
            SchemaObject(
                .table, name: "t", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY)", isTracked: true)
        ])
        let ours = try #require(try SchemaReview(before, consents: false).tables.first)
        var objections: [String: Bool] = [:]
        for column in theirs.columns.dropFirst() where column.name != "g" {
            let added = try #require(AddedColumn(column.name, of: theirs, to: "t"))
            #expect(added.sql.hasPrefix("ALTER TABLE \"t\" ADD COLUMN \(column.name)"))
            objections[column.name] = try added.objection(with: ours) == nil
        }
        #expect(
            objections == [
                "a": true, "b": true, "c": false, "d": false, "e": false, "f": true, "h": true,
            ])
    }
}
