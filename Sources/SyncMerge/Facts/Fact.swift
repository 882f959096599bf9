/// One statement of a writer. Facts only join; nothing but facts is sent between replicas.
package enum Fact: Sendable, Hashable {
    /// The object was created, deleted or revived.
    case life(ObjectUID, entity: Int, Life)
    /// A cell of the object has this value.
    case cell(ObjectUID, entity: Int, cell: Int, Version)
    /// The two identities are one object, permanently.
    case alias(ObjectUID, ObjectUID, Dot)

    /// The life that it is about; 0 for an alias.
    package var incarnation: Int {
        switch self {
        case .life(_, _, let life): return life.incarnation
        case .cell(_, _, _, let version): return version.incarnation
        case .alias: return 0
        }
    }

    /// The transaction that stated it.
    package var dot: Dot {
        switch self {
        case .life(_, _, let life): return life.dot
        case .cell(_, _, _, let version): return version.dot
        case .alias(_, _, let dot): return dot
        }
    }
}

extension Fact {
    /// Whether it states some columns of a cell, and not the others.
    package var isPartial: Bool {
        if case .cell(_, _, _, let version) = self { return version.isPartial }
        return false
    }

    /// The object that it is about; nil for an alias, which is about two.
    package var object: ObjectUID? {
        switch self {
        case .alias: return nil
        case .life(let uid, _, _), .cell(let uid, _, _, _): return uid
        }
    }

    /// All objects that it names: its own, and those that its values refer to.
    package var named: [ObjectUID] {
        switch self {
        case .life(let uid, _, _): return [uid]
        case .cell(let uid, _, _, let version): return [uid] + version.value.compactMap(\.target)
        case .alias(let first, let second, _): return [first, second]
        }
    }
}
