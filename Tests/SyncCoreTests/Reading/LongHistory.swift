@testable import SyncCore

/// A tracked database whose history tables were filled by hand: one change a transaction, ten
/// changes an object, every tenth transaction signed.
struct LongHistory {
    static let changesPerObject: Int64 = 10
    let database: TestDatabase
    let count: Int64

    init(count: Int64) throws {
        self.count = count
        database = try TestDatabase(
            wal: true, "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, b)")
        try Store.track(database.path)
        let objects = count / Self.changesPerObject
        let objectNumbers = """
            WITH RECURSIVE n(value) AS (
              VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < \(objects))
            """
        try database.sql(
            "BEGIN; \(objectNumbers) INSERT INTO item SELECT value, 'a', 0 FROM n")
        // Data of an update: cause direct, one mask word (column a), no old values.
        try database.sql(
            """
            DELETE FROM syncd_log;
            INSERT INTO syncd_who VALUES (1, 'early', NULL, NULL), (2, 'often', NULL, NULL);
            WITH RECURSIVE n(value) AS (
              VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < \(count))
            INSERT INTO syncd_transaction(number, first, time, who, pid, flags)
            SELECT value, value, 1700000000000 + value,
              CASE WHEN value = 7 THEN 1 WHEN value % 10 = 0 THEN 2 END, NULL, 0 FROM n;
            WITH RECURSIVE n(value) AS (
              VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < \(count))
            INSERT INTO syncd_change(seq, op, key, data)
            SELECT value, CASE WHEN value <= \(objects) THEN 9 ELSE 10 END,
              (value - 1) % \(objects) + 1,
              CASE WHEN value > \(objects) THEN x'00010200' END FROM n;
            INSERT INTO syncd_log(seq, op, m, ts, pk) VALUES (\(count), 10, 2, 2460000.5, 1);
            UPDATE syncd_meta SET value = \(count) WHERE key = 'digested';
            INSERT INTO syncd_meta VALUES ('digested', \(count)) ON CONFLICT DO NOTHING;
            COMMIT;
            """)
    }
}
