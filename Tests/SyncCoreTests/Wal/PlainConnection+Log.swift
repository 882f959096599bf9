import SyncTesting

extension PlainConnection {
    /// The log and two user tables whose changes it records; `other` is not tracked.
    func makeLog() throws {
        try run(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, n INT);
            CREATE TABLE other(id INTEGER PRIMARY KEY, x);
            CREATE TABLE syncd_log(seq INTEGER PRIMARY KEY, op INTEGER, m INTEGER, ts REAL,
              pk, v0, v1, v2, v3, v4, v5);
            CREATE TRIGGER ti AFTER INSERT ON t BEGIN
              INSERT INTO syncd_log(op, ts, pk) VALUES (9, julianday('now'), NEW.id); END;
            CREATE TRIGGER tu AFTER UPDATE ON t BEGIN
              INSERT INTO syncd_log(op, m, ts, pk, v0)
                VALUES (10, 4, julianday('now'), NEW.id, NEW.a);
            END;
            CREATE TRIGGER td AFTER DELETE ON t BEGIN
              INSERT INTO syncd_log(op, ts, pk, v0, v1)
                VALUES (11, julianday('now'), OLD.id, OLD.a, OLD.n);
            END;
            """)
    }
}
