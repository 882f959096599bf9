/// The SQL that writes many objects at once, from the rows of a `RowStatement`.
///
/// What is there already is written by an INSERT that always finds it: UPDATE … FROM puts the rows
/// into a table of its own first, which took 10 to 25 % longer.
enum ObjectWriting {
    /// Stores new plain objects: uid, shape, key, number, place, record. Fails where an identity is
    /// taken.
    static func insert(from rows: String) -> String {
        """
        INSERT OR FAIL INTO syncd_object(uid, shape, key, number, state, place, record)
        SELECT c1, c2, c3, c4, \(StoredObject.State.plain.rawValue), c5, c6 FROM \(rows)
        """
    }

    /// Stores id, place and record of objects that are there.
    static func update(from rows: String) -> String {
        """
        INSERT INTO syncd_object(id, place, record) SELECT c1, c2, c3 FROM \(rows) WHERE true
        ON CONFLICT(id) DO UPDATE SET place = excluded.place, record = excluded.record
        """
    }

    /// Ends objects that are there: id, place, record.
    static func end(from rows: String) -> String {
        update(from: rows) + ", key = NULL, state = \(StoredObject.State.gone.rawValue)"
    }
}
