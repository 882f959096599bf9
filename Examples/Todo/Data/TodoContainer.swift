import Foundation
import SyncObjects

/// The four kinds of containers, by the name that the command line has for them.
enum TodoContainer: String, CaseIterable {
    /// A file that all processes may write.
    case file
    /// In memory: begins with the sample tasks, and leaves nothing.
    case memory
    /// A store inside of a bundle: edits live for the session.
    case bundle
    /// A copy of the bundle's store that is kept.
    case copy

    /// Opens the store. The bundle is the file at `path`; a copy of it lies beside it.
    func open(_ path: String, alwaysCopy: Bool = false) throws -> PersistentContainer {
        let url = URL(fileURLWithPath: path)
        let kind: StoreDescription.Kind
        switch self {
        case .memory:
            return try .inMemory(try TodoModel.make(), fill: TodoModel.fill)
        case .file: kind = .file(url)
        case .bundle: kind = .bundle(url)
        case .copy:
            kind = .cachedCopy(
                of: url, cache: URL(fileURLWithPath: path + ".copy"), alwaysCopy: alwaysCopy)
        }
        let container = PersistentContainer(
            name: "Todo", model: try TodoModel.make(), description: StoreDescription(kind))
        try container.load()
        try container.followExternalChanges()
        return container
    }
}
