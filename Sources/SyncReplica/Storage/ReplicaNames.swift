import SyncStorage
import SyncValues

/// `syncd_replica`: the replicas that a store knows, by the numbers under which its tables name
/// them.
///
/// A number is assigned once and never changes. Confined to its connection's queue.
final class ReplicaNames {
    private let select: Statement
    private let insert: Statement
    /// The greatest number that a transaction names.
    private let greatest: Statement
    /// All numbers.
    private(set) var numbers: [ReplicaID: Int64] = [:]
    /// All replicas.
    private(set) var names: [Int64: ReplicaID] = [:]

    init(_ connection: OpaquePointer) throws {
        select = try Statement("SELECT id, replica FROM syncd_replica", on: connection)
        insert = try Statement(
            "INSERT INTO syncd_replica(replica, merged) VALUES (?1, 0) RETURNING id", on: connection
        )
        greatest = try Statement("SELECT max(replica) FROM syncd_header", on: connection)
        try reload()
    }

    /// Reads the table again: after a rollback, and when another connection may have written it.
    /// - Throws: SQLite errors; `corrupt` for a number below 1.
    /// - Complexity: O(replicas)
    func reload() throws {
        numbers = [:]
        names = [:]
        while try select.step() {
            guard let replica: ReplicaID = select.identifier(1) else { continue }
            let number = select.integer(0)
            guard number > 0 else {
                throw SyncError(
                    .corrupt, "the table syncd_replica has a replica with number \(number)",
                    hint: Metadata.startOverHint)
            }
            numbers[replica] = number
            names[number] = replica
        }
    }

    /// The number of a replica; a new one when it has none.
    /// - Throws: SQLite errors; `corrupt` when the new one is that of a replica whose row is gone:
    ///   what that one wrote would be this one's.
    func number(of replica: ReplicaID) throws -> Int64 {
        if let number = numbers[replica] { return number }
        insert.bind(replica.bytes, at: 1)
        guard try insert.step() else {
            throw SyncError(.internalFault, "INSERT into syncd_replica returned no number")
        }
        let number = insert.integer(0)
        try insert.run()
        defer { greatest.reset() }
        guard try greatest.step(), greatest.integer(0) < number else { throw Self.unknown(number) }
        numbers[replica] = number
        names[number] = replica
        return number
    }

    /// The replica of a number.
    /// - Throws: `corrupt` when there is none.
    func name(of number: Int64) throws -> ReplicaID {
        guard let name = names[number] else { throw Self.unknown(number) }
        return name
    }

    private static func unknown(_ number: Int64) -> SyncError {
        SyncError(
            .corrupt,
            "the table syncd_replica lacks the replica with number \(number), which wrote here",
            hint: "Another program deleted its row. " + Metadata.startOverHint)
    }
}
