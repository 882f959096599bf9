import Synchronization

/// An object without a store, for tests and previews: it holds a value and sends an element when it
/// changes.
///
/// ```swift
/// let task = MockObject(TaskValue(id: .string("1"), title: "a"))
/// task.title = "b"
/// ```
@dynamicMemberLookup
public final class MockObject<Value: BaseValueProtocol>: ConvertibleValueObservableObject {
    private let state: Mutex<Value?>
    private let identity: WrappedID
    private let broadcast = Broadcast<Void>()

    /// An object with that value.
    public init(_ value: Value) {
        identity = value.id
        state = Mutex(value)
    }

    /// The value's identity.
    public var id: WrappedID { identity }

    /// The value; nil once it was deleted.
    public func convertToValueType() -> Value? { state.withLock { $0 } }

    /// An element for each change from now on.
    public var changes: AsyncStream<Void> { broadcast.stream() }

    /// Puts another value in its place.
    public func update(_ value: Value) {
        broadcast.send(())
        state.withLock { $0 = value }
    }

    /// Behaves as a deleted object.
    public func delete() {
        broadcast.send(())
        state.withLock { $0 = nil }
    }

    /// A member of the value; nil once it was deleted. Setting it to nil does nothing.
    public subscript<Member: Sendable>(
        dynamicMember keyPath: WritableKeyPath<Value, Member> & Sendable
    ) -> Member? {
        get { state.withLock { $0?[keyPath: keyPath] } }
        set {
            guard let newValue else { return }
            broadcast.send(())
            state.withLock { $0?[keyPath: keyPath] = newValue }
        }
    }

    /// Equal values.
    public static func == (left: MockObject, right: MockObject) -> Bool {
        left.convertToValueType() == right.convertToValueType()
    }
}
