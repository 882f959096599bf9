import Foundation
import GRDB
import SyncClient
import SyncCore
import Synchronization

/// A store and the contexts on it.
///
/// ```swift
/// let container = PersistentContainer(name: "Todo", model: model)
/// try container.load()
/// let tasks = try container.viewContext.fetch(Task.self)
/// ```
public final class PersistentContainer: Sendable {
    /// The name; that of the file, unless a description says otherwise.
    public let name: String
    /// The model.
    public let model: ManagedObjectModel
    private let state: Mutex<State>

    private struct State {
        var description: StoreDescription
        var coordinator: StoreCoordinator?
        var view: ManagedObjectContext?
    }

    /// A container on the file `NAME.sqlite` in ``defaultDirectoryURL``.
    public convenience init(name: String, model: ManagedObjectModel) {
        let url = Self.defaultDirectoryURL.appendingPathComponent(name + ".sqlite")
        self.init(name: name, model: model, description: StoreDescription(.file(url)))
    }

    /// A container on the store of a description.
    public init(name: String, model: ManagedObjectModel, description: StoreDescription) {
        self.name = name
        self.model = model
        state = Mutex(State(description: description))
    }

    /// A loaded container in memory, filled by `fill`: for tests and previews.
    ///
    /// - Throws: ``ObjectError``, and what `fill` throws.
    public static func inMemory(
        _ model: ManagedObjectModel, fill: (ManagedObjectContext) throws -> Void = { _ in }
    ) throws -> PersistentContainer {
        let container = PersistentContainer(
            name: "memory", model: model, description: StoreDescription(.memory))
        try container.load()
        let context = try container.viewContext
        try context.performAndWait {
            try fill(context)
            try context.save()
        }
        return container
    }

    /// Where stores without a path of their own are: `$XDG_DATA_HOME`, or `~/.local/share`.
    public static var defaultDirectoryURL: URL {
        if let path = ProcessInfo.processInfo.environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            return URL(fileURLWithPath: path)
        }
        return FileManager.default.homeDirectoryForCurrentUser
            .appendingPathComponent(".local/share")
    }

    /// How the store is opened. Counts until it is loaded.
    public var storeDescription: StoreDescription {
        get { state.withLock(\.description) }
        set { state.withLock { $0.description = newValue } }
    }

    /// Opens the store, and makes or migrates its tables. Does nothing when that is done.
    ///
    /// - Throws: ``ObjectError`` with the store's path, the cause and the next step; the container
    ///   stays without a store, and can be loaded again.
    public func load() throws {
        let description = state.withLock { $0.coordinator == nil ? $0.description : nil }
        guard let description else { return }
        let coordinator = try StoreLoader(description: description, model: model).load()
        let view = ManagedObjectContext(coordinator: coordinator, concurrency: .main)
        view.name = "view"
        state.withLock { state in
            guard state.coordinator == nil else { return }
            state.coordinator = coordinator
            state.view = view
        }
    }

    /// Opens the store, here or, where the description says so, on another thread, and then tells
    /// how that went.
    public func load(_ completion: @escaping @Sendable ((any Error)?) -> Void) {
        let run: @Sendable () -> Void = {
            do {
                try self.load()
                completion(nil)
            } catch {
                completion(error)
            }
        }
        if storeDescription.addsAsynchronously {
            DispatchQueue.global().async(execute: run)
        } else {
            run()
        }
    }

    /// The store is open.
    public var isLoaded: Bool { state.withLock { $0.coordinator != nil } }

    /// The store.
    ///
    /// - Throws: ``ObjectError/Code/cannotOpen`` before it is loaded.
    public var coordinator: StoreCoordinator {
        get throws {
            if let coordinator = state.withLock(\.coordinator) { return coordinator }
            throw ObjectError(
                .cannotOpen, "the container “\(name)” has no store", hint: "Call load() first")
        }
    }

    /// The context of the main queue.
    ///
    /// - Throws: ``ObjectError/Code/cannotOpen`` before the store is loaded.
    public var viewContext: ManagedObjectContext {
        get throws {
            if let view = state.withLock(\.view) { return view }
            throw ObjectError(
                .cannotOpen, "the container “\(name)” has no store", hint: "Call load() first")
        }
    }

    /// A new context with a queue of its own.
    ///
    /// - Throws: ``ObjectError/Code/cannotOpen`` before the store is loaded.
    public func newBackgroundContext(author: String? = nil) throws -> ManagedObjectContext {
        let context = ManagedObjectContext(coordinator: try coordinator, concurrency: .private)
        context.transactionAuthor = author
        return context
    }

    /// Runs `body` on a new context with a queue of its own.
    ///
    /// - Throws: what `body` throws, or that the store is not loaded.
    public func performBackgroundTask<Output: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Output
    ) async throws -> Output {
        let context = try newBackgroundContext()
        return try await context.perform { try body(context) }
    }

    /// Follows what other processes commit: contexts merge it as they merge each other's saves.
    ///
    /// - Parameter client: The daemon, which is used whenever it runs and knows the store; nil: the
    ///   file is watched, and that is all.
    /// - Throws: that the store is not loaded, or that the system has no watch left.
    public func followExternalChanges(through client: StoreClient? = StoreClient()) throws {
        try coordinator.followExternalChanges(through: client)
    }

    // MARK: Metadata

    /// What the application keeps about the store, in the store.
    public func metadata() throws -> [String: String] {
        try coordinator.read { try StoreMetadata(db: $0).user() }
    }

    /// Keeps a text about the store, in the store; nil removes it.
    public func setMetadata(_ value: String?, forKey key: String) throws {
        try coordinator.write { try StoreMetadata(db: $0).setUser(key, to: value) }
    }

    /// Empties a store, also one that is open: whoever has it open sees its tables go, and nobody
    /// writes into a file that was unlinked.
    ///
    /// - Throws: ``ObjectError`` when somebody is writing, with the store as it was.
    public static func destroyStore(at url: URL) throws {
        try StoreFiles.overwrite(url, with: nil)
    }

    /// Puts the content of another store in the place of a store's, in one transaction, also while
    /// somebody has it open.
    ///
    /// - Throws: ``ObjectError`` when somebody is writing, or there is no such source.
    public static func replaceStore(at url: URL, with source: URL) throws {
        try StoreFiles.overwrite(url, with: source)
    }

    /// Closes the store. Objects that somebody holds are gone, with their last known values.
    public func close() {
        let (view, coordinator) = state.withLock { state in
            defer { (state.view, state.coordinator) = (nil, nil) }
            return (state.view, state.coordinator)
        }
        view?.reset()
        coordinator?.close()
    }
}
