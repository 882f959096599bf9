/// The view `syncd_history`: the history tables as any program that speaks SQLite can read them
/// (docs/history.md, *The history in SQL*).
///
/// Values are packed in `syncd_change.data` and not shown; neither are keys of several columns, nor
/// keys that are blobs.
enum HistoryView {
    static let name = "syncd_history"

    static let creation = """
        CREATE VIEW IF NOT EXISTS syncd_history AS
        SELECT t.number AS number,
          strftime('%Y-%m-%dT%H:%M:%fZ', t.time / 1000.0, 'unixepoch') AS time,
          w.author AS author, w.context AS context, w.process AS process, t.pid AS pid,
          t.flags AS flags, e.name AS entity,
          CASE c.op & 7 WHEN 1 THEN 'insert' WHEN 2 THEN 'update' WHEN 3 THEN 'delete' END AS kind,
          CASE WHEN typeof(c.key) <> 'blob' THEN c.key END AS key
        FROM syncd_change c
        JOIN syncd_transaction t ON t.number = (
          SELECT min(number) FROM syncd_transaction WHERE number >= c.seq)
        LEFT JOIN syncd_who w ON w.id = t.who
        LEFT JOIN syncd_entity e ON e.id = c.op >> 3
        """

    /// Whether the text of a view of the name is that of ``creation``.
    static func isOwn(_ sql: String) -> Bool { sql.contains("syncd_change") }
}
