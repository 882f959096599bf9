import GRDB
import SyncStorage

extension Tracker {
    /// Removes every trace of the recording, history too, and begins it again as another store, in
    /// one transaction: where that fails, everything is as it was.
    /// - Parameters:
    ///   - entities: the tables to record, by name.
    ///   - attachment: a database that `finishing` reads as `theirs`.
    ///   - alongside: as in ``track(entities:options:mending:alongside:)``.
    ///   - finishing: what else has to succeed.
    /// - Throws: as ``untrack(entities:)`` and ``track(entities:options:)``; what the closures
    ///   throw.
    /// - Complexity: as ``track(entities:options:)``; writers wait meanwhile.
    package func restart<Result>(
        entities: [String], options: [String: CaptureOptions], attaching attachment: String,
        alongside: (Database) throws -> Void, finishing: (Database) throws -> Result
    ) throws -> Result {
        do {
            return try queue.writeWithoutTransaction { db in
                defer { try? db.execute(sql: "DETACH theirs") }
                return try Self.writing(db) {
                    try dropEverything(db)
                    var work = TrackWork(
                        look: try SchemaLook(db, for: self), tablesAtOnceMax: .max,
                        entities: .only(entities), options: options)
                    try begin(&work, in: db, mending: { _, _ in nil }, alongside: alongside)
                    while work.next != nil { try recordSlice(&work, in: db) }
                    try rememberSchema(db)
                    // Not before: a name of the store that main lacks would be that of `theirs`.
                    try db.execute(sql: "ATTACH ? AS theirs", arguments: [attachment])
                    return try finishing(db)
                }
            }
        } catch {
            throw named(error, operation: "join")
        }
    }
}
