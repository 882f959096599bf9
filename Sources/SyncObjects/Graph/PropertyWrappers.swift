/// A typed attribute of a managed object. Always optional: nil is no value, or none that is known.
@propertyWrapper
public struct Attribute<Value: AttributeConvertible>: Sendable {
    @usableFromInline let name: String

    /// Names the attribute of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Only for objects: see the class's documentation.
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

/// A transformable attribute of a managed object, as its own type.
@propertyWrapper
public struct Transformed<Value: Sendable>: Sendable {
    @usableFromInline let name: String

    /// Names the attribute of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Only for objects: see the class's documentation.
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

/// A relationship to one object, or none.
@propertyWrapper
public struct ToOne<Target: ManagedObject>: Sendable {
    @usableFromInline let name: String

    /// Names the relationship of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Only for objects: see the class's documentation.
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

/// A relationship to any number of objects: in its own order, or else in that of their keys. What
/// is read is a copy that stays as it is while others add and delete.
@propertyWrapper
public struct ToMany<Target: ManagedObject>: Sendable {
    @usableFromInline let name: String

    /// Names the relationship of the model.
    @inlinable public init(_ name: String) { self.name = name }

    /// Only for objects: see the class's documentation.
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
