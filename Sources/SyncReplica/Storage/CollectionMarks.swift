import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_mark`, `syncd_round`: the objects that were droppable at a vector, and have been since.
///
/// Invariants
/// - A mark of a round that has a vector: the object was dead, in no alias and named by nothing
///   that is kept when that vector was the store's, and nothing was written since that changes it:
///   whoever writes a record takes the marks from it and from all that it names.
/// - A round without a vector is being made: its marks are candidates alone.
///
/// Confined to its connection's queue.
final class CollectionMarks {
    private let any: Statement
    private let remove: Statement
    private var exist = false

    init(_ connection: OpaquePointer) throws {
        any = try Statement(connection, "SELECT 1 FROM syncd_mark LIMIT 1")
        remove = try Statement(connection, "DELETE FROM syncd_mark WHERE uid = ?1")
        try reload()
    }

    /// Looks again whether there are marks: somebody else may have made some. Without any, writing
    /// costs nothing.
    func reload() throws {
        defer { any.reset() }
        exist = try any.step()
    }

    /// A record was written: it is not what it was, and what it names is in use.
    func void(_ uid: ObjectUID, _ record: ObjectRecord) throws {
        guard exist else { return }
        try void([uid])
        for version in record.cells.joined() { try void(version.value.compactMap(\.target)) }
    }

    /// Takes the marks from objects.
    func void(_ uids: [ObjectUID]) throws {
        guard exist else { return }
        for uid in uids { try remove.run(.blob(uid.bytes)) }
    }
}
