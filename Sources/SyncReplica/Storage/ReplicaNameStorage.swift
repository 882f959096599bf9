import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_replica_name`: the names that replicas gave themselves.
///
/// Confined to its connection's queue.
final class ReplicaNameStorage {
    private let selectAll: Statement
    private let upsert: Statement

    /// One row.
    struct Entry: Hashable {
        let replica: ReplicaID
        let name: ReplicaName
        /// When it was given, in milliseconds since 1970.
        let revision: Int64
        /// Nil for the name of this replica until it is sent.
        let signature: Signature?

        /// The name as it is sent.
        var signed: SignedName? {
            signature.map { SignedName(name, revision: revision, signature: $0) }
        }
    }

    init(_ connection: OpaquePointer) throws {
        selectAll = try Statement(
            "SELECT replica, revision, name, signature FROM syncd_replica_name", on: connection)
        upsert = try Statement(
            "INSERT OR REPLACE INTO syncd_replica_name VALUES (?1, ?2, ?3, ?4)", on: connection)
    }

    /// All known names. A row that is no name is left out: names are for people alone.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas)
    func all() throws -> [ReplicaID: Entry] {
        var names: [ReplicaID: Entry] = [:]
        defer { selectAll.reset() }
        while try selectAll.step() {
            guard let replica: ReplicaID = selectAll.identifier(0),
                let name = ReplicaName(selectAll.text(2) ?? "")
            else { continue }
            names[replica] = Entry(
                replica: replica, name: name, revision: selectAll.integer(1),
                signature: selectAll.blob(3).flatMap(Signature.init(bytes:)))
        }
        return names
    }

    /// Stores the name of a replica.
    /// - Throws: SQLite errors.
    func write(_ entry: Entry) throws {
        try upsert.run(
            .blob(entry.replica.bytes), .integer(entry.revision), .text(entry.name.text),
            entry.signature.map { .blob($0.bytes) } ?? .null)
    }
}
