import ArgumentParser
import Foundation
import SyncReplica
import SyncTesting

/// Merges the batches of a folder into a database, in the order of their names, and prints a line
/// when it is done. A test kills it in the middle, or it kills itself.
struct Apply: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Merge the batches of a folder into a tracked database.")

    @Argument(help: "The database.")
    var database: String

    @Argument(help: "A folder with batches.")
    var folder: String

    @Option(help: "The process kills itself as this statement of SQLite begins, from 1 on.")
    var killAt: Int?

    func validate() throws {
        guard killAt ?? 1 > 0 else {
            throw ValidationError("--kill-at counts statements from 1 on")
        }
    }

    func run() throws {
        var statements = 0
        try Statements.observing(
            {
                statements += 1
                if statements == killAt { kill(getpid(), SIGKILL) }
            }, during: merge)
        print("merged with \(statements) statements")
    }

    private func merge() throws {
        let replica = try StoreReplica(database)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            guard try replica.merge([UInt8](bytes)) else {
                throw SyncError(.badData, "\(name) starts after what is here")
            }
        }
        try replica.close()
    }
}
