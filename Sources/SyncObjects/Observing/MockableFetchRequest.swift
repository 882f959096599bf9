import Synchronization

/// A list that shows the results of a request, or mock objects where there is no store, by a switch
/// that its environment sets.
///
/// ```swift
/// let groups = MockableFetchRequest(
///     \Sources.groups, request: FetchRequest<ManagedObject>("C_Group", …))
/// try groups.connect(to: Sources.live, context: container.viewContext)
/// for await delivery in groups.deliveries { show(delivery.objects) }
/// ```
///
/// A delivery comes when the sequence of identities changes, and only then: changes of an object
/// are sent by the object.
public final class MockableFetchRequest<Root: ObjectsDataSource, Value: BaseValueProtocol>: Sendable
{
    /// What is delivered.
    public struct Delivery: Sendable {
        /// The objects.
        public let objects: [AnyConvertibleValueObservableObject<Value>]
        /// The first one after the list was connected: show it without animation.
        public let isInitial: Bool
        /// Fetched objects that cannot be converted to the value, and are left out.
        public let dropped: [ManagedObjectID]
    }

    private struct Identity: Equatable {
        let type: ObjectIdentifier
        let id: WrappedID
    }

    private struct State {
        var request: FetchRequest<ManagedObject>?
        var root: Root?
        var context: ManagedObjectContext?
        var delivery: Delivery?
        var identities: [Identity] = []
        var controller: FetchedResultsController<ManagedObject>?
        var task: Task<Void, Never>?
    }

    private let keyPath: KeyPath<Root, FetchDataSource<Value>> & Sendable
    private let state: Mutex<State>
    private let broadcast = Broadcast<Delivery>()

    /// A list whose source is at `keyPath`. The request can be given later.
    public init(
        _ keyPath: KeyPath<Root, FetchDataSource<Value>> & Sendable,
        request: FetchRequest<ManagedObject>? = nil
    ) {
        self.keyPath = keyPath
        state = Mutex(State(request: request))
    }

    deinit { state.withLock { $0.task?.cancel() } }

    /// The objects now; none before the list is connected and has what its source needs.
    public var objects: [AnyConvertibleValueObservableObject<Value>] {
        state.withLock { $0.delivery?.objects ?? [] }
    }

    /// Fetched objects that cannot be converted to the value, and are left out.
    public var dropped: [ManagedObjectID] { state.withLock { $0.delivery?.dropped ?? [] } }

    /// Deliveries from now on, as a stream.
    public var deliveries: AsyncStream<Delivery> { broadcast.stream() }

    /// An element whenever the sequence of identities changed.
    public var changes: AsyncStream<Void> {
        let deliveries = deliveries
        return AsyncStream { continuation in
            let task = Task {
                for await _ in deliveries { continuation.yield() }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Connects the list to the application's sources, or to other ones.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` for a live source without a context, and the
    ///   errors of a fetch.
    public func connect(to root: Root, context: ManagedObjectContext? = nil) throws {
        state.withLock { state in
            state.root = root
            state.context = context ?? state.context
        }
        try restart()
    }

    /// Sets the request, or another one: the results of the former are not delivered any more.
    ///
    /// - Throws: as `connect`
    public func setRequest(_ request: FetchRequest<ManagedObject>) throws {
        state.withLock { $0.request = request }
        try restart()
    }

    private func restart() throws {
        // The former controller is released outside the lock: its `deinit` takes the gate of its
        // context.
        let (root, request, context, former) = state.withLock { state in
            state.task?.cancel()
            defer { (state.task, state.controller) = (nil, nil) }
            return (state.root, state.request, state.context, state.controller)
        }
        defer { withExtendedLifetime(former) {} }
        guard let root else { return }
        switch root[keyPath: keyPath] {
        case .mockObjects(let mocks): deliver(mocks.objects, dropped: [])
        case .fetchRequest:
            guard let request else { return }
            guard let context else {
                throw ObjectError(
                    .invalidRequest, "a live list needs a context",
                    hint: "Pass one to connect(to:context:)")
            }
            try start(request, in: context)
        }
    }

    private func start(
        _ request: FetchRequest<ManagedObject>, in context: ManagedObjectContext
    ) throws {
        let controller = try FetchedResultsController(request, context: context)
        let first = try controller.performFetch()
        let updates = controller.updates
        let task = Task { [weak self] in
            for await update in updates {
                guard !Task.isCancelled else { return }
                self?.take(update.snapshot, from: controller)
            }
        }
        state.withLock { state in
            state.controller = controller
            state.task = task
        }
        take(first, from: controller)
    }

    private func take(
        _ snapshot: ResultSnapshot<ManagedObject>,
        from controller: FetchedResultsController<ManagedObject>
    ) {
        guard state.withLock({ $0.controller === controller }) else { return }
        var objects: [AnyConvertibleValueObservableObject<Value>] = []
        var dropped: [ManagedObjectID] = []
        for object in snapshot.objects {
            if let convertible = object as? any ConvertibleValueObservableObject<Value> {
                objects.append(Self.erase(convertible))
            } else {
                dropped.append(object.objectID)
            }
        }
        deliver(objects, dropped: dropped)
    }

    private static func erase(
        _ object: some ConvertibleValueObservableObject<Value>
    ) -> AnyConvertibleValueObservableObject<Value> {
        object.eraseToAny()
    }

    private func deliver(
        _ objects: [AnyConvertibleValueObservableObject<Value>], dropped: [ManagedObjectID]
    ) {
        // Reading objects takes their gates, so that it is done before the lock is taken.
        let identities = objects.map {
            Identity(type: ObjectIdentifier(type(of: $0.object)), id: $0.id)
        }
        let delivery = state.withLock { state -> Delivery? in
            if state.delivery != nil, state.identities == identities { return nil }
            let delivery = Delivery(
                objects: objects, isInitial: state.delivery == nil, dropped: dropped)
            state.delivery = delivery
            state.identities = identities
            return delivery
        }
        if let delivery { broadcast.send(delivery) }
    }
}
