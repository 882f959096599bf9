import ArgumentParser
import Foundation
import SyncReplica

/// Merges the batches of a folder into a database, in the order of their names, and prints a line
/// when it is done. A test kills it in the middle.
struct Apply: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Merge the batches of a folder into a tracked database.")

    @Argument(help: "The database.")
    var database: String

    @Argument(help: "A folder with batches.")
    var folder: String

    func run() throws {
        let replica = try StoreReplica(database)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            guard try replica.merge([UInt8](bytes)) else {
                throw SyncError(.badData, "\(name) starts after what is here")
            }
        }
        try replica.close()
        print("merged")
    }
}
