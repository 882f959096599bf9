/// A class whose key paths have property names.
public protocol KeyPathNaming {
    /// The name of the property that `keyPath` reads; nil when it reads something else.
    static func propertyName(of keyPath: AnyKeyPath) -> String?
}
