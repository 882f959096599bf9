import Foundation
import SyncReplica

extension StoreSimulation {
    /// Whether replicas are killed while they merge, record and collect.
    @TaskLocal package static var killsReplicas = false
}

extension SimulatedStore {
    /// At how many of its statements a replica is killed.
    private static let killsMax = 3

    /// Does something with the replica, and then again as if its process had been killed with
    /// SIGKILL as one of its statements began: from the files as they were then a new process does
    /// the same, and all tables are what they were without a kill.
    ///
    /// What a process wrote is in its files when it is killed, synced or not.
    func killing(_ body: (StoreReplica) throws -> Void) throws {
        guard StoreSimulation.killsReplicas else { return try body(replica) }
        let usesLane = StoreSimulation.usesLane
        try replica.close()
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        var images = SampledImages(path, count: Self.killsMax, seed: UInt64(kills))
        var whole: Outcome
        do {
            whole = try Statements.observing({ try images.statementBegins() }) {
                try outcome(usesLane: usesLane, usesLocalLane: usesLane, body)
            }
        } catch {
            try continueHere()
            throw error
        }
        tookLane(whole.tally)
        whole.tables = try allTables()
        for (statement, image) in images.images {
            try restore(image)
            guard try database.run("PRAGMA integrity_check") == [["ok"]] else {
                throw SimulationFailure("killed at statement \(statement): the file is damaged")
            }
            var again = try outcome(usesLane: usesLane, usesLocalLane: usesLane, body)
            again.tables = try allTables()
            try Self.compare(
                again.tables, with: whole.tables,
                called: ("killed at statement \(statement)", "not killed"))
            kills += 1
        }
        try continueHere()
    }
}
