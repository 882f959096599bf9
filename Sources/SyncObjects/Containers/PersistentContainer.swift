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
    /// The name, which is that of the file unless a description gives another one.
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

    /// The directory of stores without a path of their own: `$XDG_DATA_HOME`, or `~/.local/share`.
    public static var defaultDirectoryURL: URL {
        if let path = ProcessInfo.processInfo.environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            return URL(fileURLWithPath: path)
        }
        return FileManager.default.homeDirectoryForCurrentUser
            .appendingPathComponent(".local/share")
    }

    /// How the store is opened. Changes have no effect once it is loaded.
    public var storeDescription: StoreDescription {
        get { state.withLock(\.description) }
        set { state.withLock { $0.description = newValue } }
    }

    /// Opens the store, and creates or migrates its tables. Does nothing when the store is open.
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

    /// Opens the store, on the calling thread or, with ``StoreDescription/addsAsynchronously``, on
    /// another one. Then calls `completion` with the error, or with nil.
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

    /// Follows commits of other processes: contexts merge them as they merge each other's saves.
    ///
    /// - Parameter client: The daemon, which is used while it runs and serves the store; nil to
    ///   watch the file only.
    /// - Throws: that the store is not loaded, or that the system has no watch left.
    public func followExternalChanges(through client: StoreClient? = StoreClient()) throws {
        try coordinator.followExternalChanges(through: client)
    }

    // MARK: Metadata

    /// The application's metadata, which is kept in the store.
    ///
    /// - Throws: ``ObjectError/Code/cannotOpen`` before the store is loaded;
    ///   ``ObjectError`` when it cannot be read.
    public func metadata() throws -> [String: String] {
        try coordinator.read { try StoreMetadata(db: $0).user() }
    }

    /// Sets the application's metadata for a key; nil removes it.
    ///
    /// - Throws: ``ObjectError/Code/cannotOpen`` before the store is loaded;
    ///   ``ObjectError`` when it cannot be written.
    public func setMetadata(_ value: String?, forKey key: String) throws {
        try coordinator.write { try StoreMetadata(db: $0).setUser(key, to: value) }
    }

    /// Empties a store, which may be open: its connections see that the tables are gone, and none
    /// writes to an unlinked file.
    ///
    /// - Throws: ``ObjectError`` when the store is locked by a writer; the store is not changed.
    public static func destroyStore(at url: URL) throws {
        try StoreFiles.overwrite(url, with: nil)
    }

    /// Replaces the content of a store by that of another one, in one transaction. The store may be
    /// open.
    ///
    /// - Throws: ``ObjectError`` when the store is locked by a writer, or there is no such source.
    public static func replaceStore(at url: URL, with source: URL) throws {
        try StoreFiles.overwrite(url, with: source)
    }

    /// Closes the store. Objects that the program still holds are gone, with their last known
    /// values.
    public func close() {
        let (view, coordinator) = state.withLock { state in
            defer { (state.view, state.coordinator) = (nil, nil) }
            return (state.view, state.coordinator)
        }
        view?.reset()
        coordinator?.close()
    }
}
