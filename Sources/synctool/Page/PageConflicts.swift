import SyncClient
import SyncCore
import SyncReplica
import Varlink

/// The conflicts of a store: both sides, what each choice would do to which rows, and the choice.
struct PageConflicts {
    /// Conflicts that are listed: each is previewed, twice, in a transaction that is taken back.
    private static let listedMax = 50

    let path: String

    /// - Throws: ``SyncError``: as `synctool conflicts`.
    func list() throws -> JSONObject {
        // Where none is open, nothing is written: reading the log records what writers committed.
        let count = try Store.openConflictCount(path)
        guard count > 0 else { return ["count": 0, "conflicts": .array([])] }
        return try withReplica { replica in
            let text = ConflictText(names: try replica.replicaNames())
            let listed = try replica.conflicts().prefix(Self.listedMax).map { conflict in
                var object = text.json(conflict)
                object["choices"] = .object([
                    "shown": .object(
                        OutcomeText.json(try replica.preview(conflict.id, keeping: .shown))),
                    "losing": .object(
                        OutcomeText.json(try replica.preview(conflict.id, keeping: .losing))),
                ])
                return JSONValue.object(object)
            }
            return ["count": .integer(count), "conflicts": .array(listed)]
        }
    }

    /// Decides a conflict, for all replicas.
    ///
    /// - Throws: ``SyncError``: as `synctool conflicts resolve`.
    func resolve(_ id: Int64, keep: String) throws -> JSONObject {
        let choices: [String: ConflictRecord.Choice] = ["shown": .shown, "losing": .losing]
        guard let choice = choices[keep] else {
            throw SyncError(.invalidArgument, "'\(keep)' is no side of a conflict")
        }
        return try withReplica {
            OutcomeText.json(try $0.resolve(id, keeping: choice, author: Self.author))
        }
    }

    /// The author of decisions, as the command line has it.
    private static let author = "synctool"

    private func withReplica<Result>(_ body: (StoreReplica) throws -> Result) throws -> Result {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return try body(replica)
    }
}
