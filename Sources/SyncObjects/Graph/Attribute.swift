/// A typed attribute of a managed object. Always optional: nil means NULL, or that no value is
/// known.
@propertyWrapper
public struct Attribute<Value: AttributeConvertible>: Sendable {
    @usableFromInline let name: String

    /// Names the attribute of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Unavailable: the property wrapper works only in a ``ManagedObject``.
    @available(*, unavailable, message: "@Attribute belongs in a ManagedObject")
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
            return object.attribute(object[keyPath: storage].name)
        }
        set { object.assignAttribute(newValue, forKey: object[keyPath: storage].name) }
    }
}
