import CWriter
import PlainWriter
import SyncCore

/// A tracked database with a history of any length, made without a writer.
enum LongHistory {
    static let changesPerObject: Int64 = 10

    static func make(_ path: String, count: Int64) throws {
        let writer = try Writer(path)
        try writer.run("CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT)")
        try Store.track(path)
        let objects = count / changesPerObject
        let numbers = """
            WITH RECURSIVE n(value) AS (
              VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < \(count))
            """
        try writer.run(
            """
            PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;
            DROP INDEX syncd_change_object; DROP INDEX syncd_transaction_who;
            BEGIN;
            INSERT INTO syncd_who VALUES (1, 'early', NULL, NULL), (2, 'importer', NULL, NULL);
            \(numbers) INSERT INTO syncd_transaction(number, first, time, who, pid, flags)
              SELECT value, value, 1700000000000 + value,
                CASE WHEN value = \(count / 2 + 7) THEN 1 WHEN value % 10 = 0 THEN 2 END, NULL, 0
              FROM n;
            \(numbers) INSERT INTO syncd_change(seq, op, key, data)
              SELECT value, CASE WHEN value <= \(objects) THEN 9 ELSE 10 END,
                (value * 7919) % \(objects) + 1,
                CASE WHEN value > \(objects) THEN x'00010200' END FROM n;
            INSERT INTO syncd_log(seq, op, m, ts, pk) VALUES (\(count), 10, 2, 2460000.5, 1);
            INSERT INTO syncd_meta VALUES ('digested', \(count)), ('fingerprinted', \(count))
              ON CONFLICT DO UPDATE SET value = excluded.value;
            CREATE INDEX syncd_change_object ON syncd_change(key, op);
            CREATE INDEX syncd_transaction_who ON syncd_transaction(who) WHERE who IS NOT NULL;
            COMMIT;
            PRAGMA wal_checkpoint(TRUNCATE);
            """)
    }
}
