/// A group of attributes under one name, stored as columns of the same row: `address.street` is the
/// column `address_street`.
public struct CompositeDescription: Sendable {
    /// The name before the dot.
    public var name: String
    /// The attributes in it.
    public var attributes: [AttributeDescription]
    /// The groups in it.
    public var composites: [CompositeDescription]

    /// Makes a group of attributes.
    public init(
        _ name: String, attributes: [AttributeDescription],
        composites: [CompositeDescription] = []
    ) {
        self.name = name
        self.attributes = attributes
        self.composites = composites
    }

    /// The attributes, with dotted names and with columns of their own.
    func flattened() -> [AttributeDescription] {
        let nested = composites.flatMap { $0.flattened() }
        return (attributes + nested).map { attribute in
            var attribute = attribute
            attribute.column = name + "_" + (attribute.column ?? attribute.name)
            if attribute.renamingIdentifier == attribute.name {
                attribute.renamingIdentifier = name + "." + attribute.name
            }
            attribute.name = name + "." + attribute.name
            return attribute
        }
    }
}
