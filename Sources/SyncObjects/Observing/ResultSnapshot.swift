/// The results of a request at one moment. Immutable.
public struct ResultSnapshot<Object: ManagedObject>: Sendable {
    /// A run of objects with one value of the section key.
    public typealias Section = ResultSection

    /// A place in a list with marks at both ends of each section.
    public enum Item: Sendable, Identifiable {
        /// A section begins.
        case begin(Section)
        /// An object.
        case object(Object)
        /// A section ends.
        case end(Section)

        /// Identities of marks are texts, and so never those of objects.
        public var id: WrappedID {
            switch self {
            case .begin(let section): return .string("begin:" + section.name)
            case .object(let object): return object.id
            case .end(let section): return .string("end:" + section.name)
            }
        }
    }

    /// The objects, in order: those of each section beside each other.
    public let objects: [Object]
    /// Their identities.
    public let ids: [ManagedObjectID]
    /// The sections, in the order of the objects; empty when none were asked for.
    public let sections: [Section]

    /// The objects with marks around each section.
    public var itemsWithMarks: [Item] {
        sections.flatMap { section in
            [.begin(section)]
                + objects[section.offset..<section.offset + section.count].map { .object($0) }
                + [.end(section)]
        }
    }

    /// The section and the row in it of a place in the array; nil when there are no sections.
    ///
    /// - Complexity: O(log sections)
    public func indexPath(of place: Int) -> (section: Int, row: Int)? {
        var (low, high) = (0, sections.count)
        while low < high {
            let middle = (low + high) / 2
            if sections[middle].offset + sections[middle].count <= place {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < sections.count, place >= sections[low].offset else { return nil }
        return (low, place - sections[low].offset)
    }
}
