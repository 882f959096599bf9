/// A step over a relationship, from the entity that has it.
struct BoundRelation {
    let source: EntityLayout
    let index: Int
    let destination: EntityLayout

    var relation: EntityLayout.Relation { source.relations[index] }
}

/// To-one steps from the object in question.
typealias BoundPath = [BoundRelation]

extension BoundPath {
    var visited: Set<String> { Set(map(\.destination.root)) }
}
