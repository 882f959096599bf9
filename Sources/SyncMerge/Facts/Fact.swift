import SyncValues

/// What a life fact says of an object.
package enum LifeKind: UInt8, Sendable, Hashable {
    /// Inserted.
    case created
    /// Deleted.
    case deleted
    /// Touched by somebody who saw it shown although deleted: it is to stay.
    case revived
}

/// One statement about whether an object exists.
package struct Life: Sendable, Hashable {
    /// The transaction that stated it.
    package let dot: Dot
    /// What it says.
    package let kind: LifeKind
    /// Which life of the object: 1 for the first insert, one more for each insert after a delete.
    package let incarnation: Int

    /// The last number of a life.
    package static let incarnationMax = Int(Int32.max)

    /// Makes a life fact.
    package init(_ dot: Dot, _ kind: LifeKind, incarnation: Int) {
        self.dot = dot
        self.kind = kind
        self.incarnation = incarnation
    }
}

/// One version of one cell of an object.
package struct Version: Sendable, Hashable {
    /// The transaction that wrote it.
    package let dot: Dot
    /// The life of the object that it belongs to.
    package let incarnation: Int
    /// One field per column of the cell.
    package let value: [Field]

    /// Makes a version.
    package init(_ dot: Dot, incarnation: Int, value: [Field]) {
        self.dot = dot
        self.incarnation = incarnation
        self.value = value
    }
}

/// What a person stated. Facts only join; nothing but facts travels between replicas.
package enum Fact: Sendable, Hashable {
    /// The object was created, deleted or revived.
    case life(ObjectUID, entity: Int, Life)
    /// A cell of the object has this value.
    case cell(ObjectUID, entity: Int, cell: Int, Version)
    /// The two identities are one object, for ever.
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
    /// The object that it is about; nil for an alias, which is about two.
    package var object: ObjectUID? {
        switch self {
        case .alias: return nil
        case .life(let uid, _, _), .cell(let uid, _, _, _): return uid
        }
    }

    /// All that it speaks of: the object, and what its values refer to.
    package var named: [ObjectUID] {
        switch self {
        case .life(let uid, _, _): return [uid]
        case .cell(let uid, _, _, let version): return [uid] + version.value.compactMap(\.target)
        case .alias(let first, let second, _): return [first, second]
        }
    }
}

/// Names one version of one cell: the key of the conflict log.
package struct VersionID: Sendable, Hashable, Comparable {
    /// The object.
    package let object: ObjectUID
    /// The cell's position in its entity; ``life`` for a life fact.
    package let cell: Int
    /// The transaction that stated it.
    package let dot: Dot

    /// Stands in place of a cell where the fact is about the object's life.
    package static let life = -1

    /// Makes a name.
    package init(_ object: ObjectUID, cell: Int, _ dot: Dot) {
        self.object = object
        self.cell = cell
        self.dot = dot
    }

    package static func < (left: VersionID, right: VersionID) -> Bool {
        (left.object, left.cell, left.dot) < (right.object, right.cell, right.dot)
    }
}
