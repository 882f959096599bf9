import SyncMerge

/// Steps of scenarios that are written by hand.
extension SimulatedReplica {
    /// Runs statements as one transaction and commits it.
    /// - Parameter wall: milliseconds of the replica's clock; nil: 10 after the last transaction.
    /// - Throws: `SimulationFailure` when a constraint refuses a statement.
    package func transact(
        _ statements: String..., recreated: Set<RowKey> = [], rekeyed: [RowKey: RowKey] = [:],
        wall: Int64? = nil
    ) throws {
        try database.run("BEGIN")
        for statement in statements + ["COMMIT"] where try database.run(statement) == nil {
            throw SimulationFailure("refused: \(statement)")
        }
        _ = try commit(recreated: recreated, rekeyed: rekeyed, wall: wall)
    }

    /// The rows of a query, sorted by their text.
    /// - Throws: `SimulationFailure` when SQLite refuses the query.
    package func query(_ sql: String) throws -> [[Value]] {
        (try database.run(sql) ?? []).sorted { $0.description < $1.description }
    }

    /// Merges everything that `other` has and this replica lacks.
    /// - Throws: `SimulationFailure` for a gap, or a broken invariant.
    package func pull(from other: SimulatedReplica) throws {
        guard try receive(other.state.delta(since: state.vector)) else {
            throw SimulationFailure("a gap")
        }
    }

    /// Exchanges everything among replicas, and checks that they are equal.
    /// - Throws: `SimulationFailure` when the replicas differ, or for a broken invariant.
    package static func sync(_ replicas: SimulatedReplica...) throws {
        for _ in 0..<2 {
            for from in replicas {
                for to in replicas where to !== from { try to.pull(from: from) }
            }
        }
        let expected = try replicas[0].canonical()
        for replica in replicas where try replica.canonical() != expected {
            throw SimulationFailure("replicas differ")
        }
    }

    /// Whether the conflict log ever held a version with these fields.
    package func hasLogged(_ fields: [Field]) -> Bool {
        log.values.contains { $0.value == fields }
    }

    /// Whether the conflict log ever held a conflict of this kind.
    package func hasLogged(_ reason: ConflictReason) -> Bool {
        log.values.contains { $0.reason == reason }
    }
}
