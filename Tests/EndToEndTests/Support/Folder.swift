import SyncTesting

/// A folder with everything that a test makes; commands run in it.
typealias Folder = TemporaryFolder

extension TemporaryFolder {
    func path(_ name: String) -> String { file(name) }
}
