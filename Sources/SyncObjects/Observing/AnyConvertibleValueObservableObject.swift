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
