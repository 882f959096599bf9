import SyncCore

/// One attribute of an entity.
///
/// ```swift
/// AttributeDescription("name", default: "New Shop")
/// AttributeDescription("priority", .integer16, default: 0)
/// AttributeDescription("createDate", .date, optional: true)
/// ```
public struct AttributeDescription: Sendable {
    /// The name, as in `object["name"]` and in predicates.
    public var name: String
    /// What it holds and how that is stored.
    public var coding: AttributeCoding
    /// A new object's value; ``SyncCore/Value/null`` for none.
    public private(set) var defaultValue: Value = .null
    /// Why the default cannot be stored; the model refuses it.
    private(set) var defaultProblem: String?
    /// May be nil at save.
    public var isOptional: Bool
    /// Lives in memory only.
    public var isTransient = false
    /// Computed at each save; see ``DerivedExpression``. Text of the expression.
    public var derivation: String?
    /// Between Swift values and bytes, for ``AttributeType/transformable``.
    public var transformer: AttributeTransformer?
    /// The rules that a value must satisfy at save.
    public var rules: [ValidationRule] = []
    /// A deleted object's history keeps this value, in a store that is tracked with the model's
    /// ``ManagedObjectModel/captureOptions``.
    public var preservesValueInHistoryOnDeletion = true
    /// The name in the older model, for migration; the name by default.
    public var renamingIdentifier: String
    /// A text that changes the version hash.
    public var versionHashModifier: String?
    /// The column in the table; its own name unless set.
    public var column: String?

    /// Makes an attribute: by default text, mandatory and without a default value.
    ///
    /// The renaming identifier is the name. A default of another type is refused by the model.
    public init(
        _ name: String, _ type: AttributeType = .string, default value: (any Sendable)? = nil,
        optional: Bool = false
    ) {
        self.name = name
        coding = AttributeCoding(type)
        isOptional = optional
        renamingIdentifier = name
        setDefault(value)
    }

    /// The type of its values.
    public var type: AttributeType {
        get { coding.type }
        set { coding.type = newValue }
    }

    /// Sets the value of new objects.
    public mutating func setDefault(_ value: (any Sendable)?) {
        do {
            defaultValue = try coding.encode(value)
            defaultProblem = nil
        } catch {
            defaultValue = .null
            defaultProblem = (error as? ObjectError)?.reason ?? "\(error)"
        }
    }

    /// Sets the stored form of the default, as read from a table.
    mutating func setStoredDefault(_ value: Value) { defaultValue = value }
}

extension AttributeDescription {
    /// An attribute that lives in memory only.
    public static func transient(
        _ name: String, _ type: AttributeType = .string, default value: (any Sendable)? = nil
    ) -> Self {
        var attribute = Self(name, type, default: value, optional: true)
        attribute.isTransient = true
        return attribute
    }

    /// An attribute whose value is computed at each save, for example `tasks.@count`.
    public static func derived(
        _ name: String, _ type: AttributeType, from expression: String
    ) -> Self {
        var attribute = Self(name, type, optional: true)
        attribute.derivation = expression
        return attribute
    }

    /// An attribute that a transformer turns into bytes.
    public static func transformable(
        _ name: String, by transformer: AttributeTransformer, optional: Bool = true
    ) -> Self {
        var attribute = Self(name, .transformable, optional: optional)
        attribute.transformer = transformer
        return attribute
    }

    /// The same attribute with rules that a value must satisfy at save.
    public func validated(by rules: ValidationRule...) -> Self {
        var attribute = self
        attribute.rules += rules
        return attribute
    }

    /// The same attribute, known to have had another name in the older model.
    public func renamed(from identifier: String) -> Self {
        var attribute = self
        attribute.renamingIdentifier = identifier
        return attribute
    }

    /// The same attribute in a column of another name, with its dates stored another way.
    public func stored(in column: String? = nil, dates: DateStorage? = nil) -> Self {
        var attribute = self
        if let column { attribute.column = column }
        if let dates { attribute.coding.dates = dates }
        return attribute
    }
}
