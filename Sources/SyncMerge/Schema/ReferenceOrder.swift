/// The entities of a schema, so that each comes after those that it refers to, but for circles.
package struct ReferenceOrder {
    /// Entities that refer to each other in a circle, or one alone.
    package struct Component: Equatable {
        /// Positions in the schema, ascending.
        package let entities: [Int]
        /// Whether a row may refer to any other row of these entities.
        package let isCircular: Bool
    }

    /// A component refers to itself and to those before it.
    package private(set) var components: [Component] = []

    private let targets: [[Int]]
    /// When an entity was first met; nil: not yet.
    private var met: [Int?]
    /// The earliest entity that an entity leads back to.
    private var earliest: [Int]
    /// Entities of components that are not complete.
    private var open: [Int] = []

    /// - Complexity: O(entities and references), by Tarjan's algorithm; as deep as the longest
    ///   chain of references.
    package init(of schema: MergeSchema) {
        targets = schema.entities.map { $0.references.map(\.target) }
        met = Array(repeating: nil, count: targets.count)
        earliest = Array(repeating: 0, count: targets.count)
        for entity in targets.indices where met[entity] == nil { visit(entity) }
    }

    private mutating func visit(_ entity: Int) {
        let order = met.count { $0 != nil }
        met[entity] = order
        earliest[entity] = order
        open.append(entity)
        for target in targets[entity] {
            if let other = met[target] {
                if open.contains(target) { earliest[entity] = min(earliest[entity], other) }
            } else {
                visit(target)
                earliest[entity] = min(earliest[entity], earliest[target])
            }
        }
        guard earliest[entity] == order, let first = open.firstIndex(of: entity) else { return }
        let entities = open[first...].sorted()
        open.removeSubrange(first...)
        components.append(
            Component(
                entities: entities,
                isCircular: entities.count > 1 || targets[entity].contains(entity)))
    }
}
