/// A relationship to one object, or none.
@propertyWrapper
public struct ToOne<Target: ManagedObject>: Sendable {
    @usableFromInline let name: String

    /// Names the relationship of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Unavailable: the property wrapper works only in a ``ManagedObject``.
    @available(*, unavailable, message: "@ToOne belongs in a ManagedObject")
    public var wrappedValue: Target? {
        get { nil }
        set { _ = newValue }
    }

    /// Reads and writes the relationship of `object`.
    @inlinable
    public static subscript<Object: ManagedObject>(
        _enclosingInstance object: Object,
        wrapped keyPath: ReferenceWritableKeyPath<Object, Target?>,
        storage storage: ReferenceWritableKeyPath<Object, Self>
    ) -> Target? {
        get {
            if object.isProbe { object.noteAccessor(keyPath) }
            return object.value(forKey: object[keyPath: storage].name) as? Target
        }
        set { object.assign(newValue, forKey: object[keyPath: storage].name) }
    }
}
