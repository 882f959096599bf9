import Foundation
import SyncTesting

extension TemporaryFolder {
    /// The paths of all batches below, sorted.
    func batches() -> [String] {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".synb") }.sorted().map { path + "/" + $0 }
    }
}
