/// An object that can be turned into a value while it exists, and that sends an element when it
/// changes.
///
/// ```swift
/// extension Task: ConvertibleValueObservableObject {
///     func convertToValueType() -> TaskValue? {
///         snapshot { TaskValue(id: $0.id, title: $0.title ?? "") }
///     }
/// }
/// ```
public protocol ConvertibleValueObservableObject<Value>: AnyObject, Equatable, Identifiable,
    Sendable
where ID == WrappedID {
    /// What it is turned into.
    associatedtype Value: BaseValueProtocol
    /// The value as it is now; nil when the object is gone. Can be called from any thread.
    func convertToValueType() -> Value?
    /// An element for each change from now on.
    var changes: AsyncStream<Void> { get }
}

extension ConvertibleValueObservableObject {
    /// The object without its type.
    public func eraseToAny() -> AnyConvertibleValueObservableObject<Value> {
        AnyConvertibleValueObservableObject(self)
    }

    /// The same type and the same identity; values are not compared.
    func isEquatable(_ other: any ConvertibleValueObservableObject) -> Bool {
        type(of: other) == type(of: self) && other.id == id
    }
}

extension ManagedObject {
    /// What `body` makes of the object, read as one: never partly before and partly after a change.
    /// Nil when the object is gone or is to be deleted.
    public func snapshot<Output>(_ body: (Self) -> Output?) -> Output? {
        reading { object in (object as? Self).flatMap(body) }
    }

    /// An element for each change from now on.
    public var changes: AsyncStream<Void> {
        let events = events
        return AsyncStream { continuation in
            let task = Task {
                for await _ in events { continuation.yield() }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
