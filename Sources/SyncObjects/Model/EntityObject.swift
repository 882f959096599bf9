/// A class of objects that entities can name. Only ``ManagedObject`` and its subclasses conform.
public protocol EntityObject: AnyObject, Sendable {}

extension EntityObject {
    /// The name of the class, without its module: `ShopModel` for `MyApp.ShopModel`.
    public static func entityName() -> String {
        String(String(reflecting: self).split(separator: ".").last ?? "")
    }
}
