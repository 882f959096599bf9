/// A transformable attribute of a managed object, as its own type.
@propertyWrapper
public struct Transformed<Value: Sendable>: Sendable {
    @usableFromInline let name: String

    /// Names the attribute of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Unavailable: the property wrapper works only in a ``ManagedObject``.
    @available(*, unavailable, message: "@Transformed belongs in a ManagedObject")
    public var wrappedValue: Value? {
        get { nil }
        set { _ = newValue }
    }

    /// Reads and writes the attribute of `object`.
    @inlinable
    public static subscript<Object: ManagedObject>(
        _enclosingInstance object: Object,
        wrapped keyPath: ReferenceWritableKeyPath<Object, Value?>,
        storage storage: ReferenceWritableKeyPath<Object, Self>
    ) -> Value? {
        get {
            if object.isProbe { object.noteAccessor(keyPath) }
            return object.value(forKey: object[keyPath: storage].name) as? Value
        }
        set { object.assign(newValue, forKey: object[keyPath: storage].name) }
    }
}
