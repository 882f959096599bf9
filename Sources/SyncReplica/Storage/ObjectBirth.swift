import SyncValues

/// The insert that an object began with: the same in every copy of the file that has it.
struct ObjectBirth: Hashable {
    /// The log row of the insert.
    let seq: Int64
    /// When the insert was written, as far as it is known: else the time of its transaction.
    let time: Timestamp

    /// In place of an insert: for a row that existed when its database joined another store.
    static let beforeJoin = ObjectBirth(seq: -1, time: Timestamp(milliseconds: 0))
}
