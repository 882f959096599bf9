/// A value that stands for an object: a copy that can go anywhere.
public protocol BaseValueProtocol: Equatable, Identifiable, Sendable where ID == WrappedID {}

/// An object that can be turned into a value, as long as it is there, and that tells when it
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
    /// What `body` makes of the object, read as one: never half of it before and half after
    /// somebody else's change. Nil when the object is gone, or about to be.
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

/// An object that can be turned into a value, without its type. Made by `eraseToAny()` alone.
public final class AnyConvertibleValueObservableObject<Value: BaseValueProtocol>: Sendable,
    Identifiable
{
    /// The object.
    public let object: any ConvertibleValueObservableObject<Value>

    init(_ object: some ConvertibleValueObservableObject<Value>) { self.object = object }

    /// The object's identity.
    public var id: WrappedID { object.id }

    /// The value as it is now; nil when the object is gone.
    public var wrappedValue: Value? { object.convertToValueType() }

    /// An element for each change from now on.
    public var changes: AsyncStream<Void> { object.changes }
}

extension AnyConvertibleValueObservableObject: Hashable {
    /// The same type and the same identity; values are not compared.
    public static func == (
        left: AnyConvertibleValueObservableObject, right: AnyConvertibleValueObservableObject
    ) -> Bool {
        left.object.isEquatable(right.object)
    }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
