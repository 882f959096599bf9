/// A relationship to any number of objects: in its own order, or else in that of their keys. A copy
/// is returned, which does not change when members are added or deleted.
@propertyWrapper
public struct ToMany<Target: ManagedObject>: Sendable {
    @usableFromInline let name: String

    /// Names the relationship of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Unavailable: the property wrapper works only in a ``ManagedObject``.
    @available(*, unavailable, message: "@ToMany belongs in a ManagedObject")
    public var wrappedValue: [Target] {
        get { [] }
        set { _ = newValue }
    }

    /// Reads and writes the relationship of `object`.
    @inlinable
    public static subscript<Object: ManagedObject>(
        _enclosingInstance object: Object,
        wrapped keyPath: ReferenceWritableKeyPath<Object, [Target]>,
        storage storage: ReferenceWritableKeyPath<Object, Self>
    ) -> [Target] {
        get {
            if object.isProbe { object.noteAccessor(keyPath) }
            let members = object.value(forKey: object[keyPath: storage].name) as? [ManagedObject]
            return members?.compactMap { $0 as? Target } ?? []
        }
        set { object.assign(newValue, forKey: object[keyPath: storage].name) }
    }
}
