import CWriter

/// One row of the table: what is written, on which schema.
struct Workload {
    var name: String
    var schema: String
    var action = WRITER_INSERT
    var key = WRITER_KEY_INTEGER
    var rows: Int
    var rowsPerTransaction = 100
    /// The figure to reach: CPU with capture over CPU without.
    var target: Double

    private static let columns = """
        title TEXT, done INTEGER, priority INTEGER, note TEXT, payload BLOB
        """
    private static let indexes = """
        CREATE INDEX by_title ON item(title);
        CREATE INDEX by_priority ON item(priority, done);
        """
    private static let indexed =
        "CREATE TABLE item(id INTEGER PRIMARY KEY, uuid BLOB, \(columns)); \(indexes)"
    private static let unique =
        "CREATE TABLE item(id INTEGER PRIMARY KEY, uuid BLOB UNIQUE, \(columns)); \(indexes)"
    private static let textKey = "CREATE TABLE item(id TEXT PRIMARY KEY, uuid BLOB, \(columns))"

    /// What DESIGN's table of figures asks of capture.
    static func all(rows: Int) -> [Workload] {
        [
            Workload(name: "insert", schema: indexed, rows: rows, target: 1.25),
            Workload(
                name: "insert, id chosen by SQLite", schema: indexed, key: WRITER_KEY_CHOSEN,
                rows: rows, target: 1.25),
            Workload(name: "insert, uuid UNIQUE", schema: unique, rows: rows, target: 1.35),
            Workload(
                name: "insert, TEXT key, no index", schema: textKey, key: WRITER_KEY_TEXT,
                rows: rows, target: 1.7),
            Workload(
                name: "insert, TEXT key, one transaction", schema: textKey, key: WRITER_KEY_TEXT,
                rows: rows * 5, rowsPerTransaction: rows * 5, target: 1.8),
            Workload(
                name: "insert, one row a transaction", schema: indexed, rows: rows / 2,
                rowsPerTransaction: 1, target: 1.3),
            Workload(
                name: "update of one column", schema: indexed, action: WRITER_UPDATE, rows: rows,
                target: 1.4),
            Workload(
                name: "delete", schema: indexed, action: WRITER_DELETE, rows: rows, target: 1.4),
        ]
    }
}
