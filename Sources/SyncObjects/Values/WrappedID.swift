import Foundation

/// An identity of any kind: of an object of a store, or of one that a test or a preview made up.
public enum WrappedID: Sendable, Hashable, Identifiable {
    /// A text.
    case string(String)
    /// A number.
    case integer(Int)
    /// A UUID.
    case uuid(UUID)
    /// The identity of an object of a store.
    case objectID(ManagedObjectID)

    /// Itself.
    public var id: Self { self }

    /// The text, for that case.
    public var stringID: String? {
        if case .string(let id) = self { return id }
        return nil
    }

    /// The number, for that case.
    public var integerID: Int? {
        if case .integer(let id) = self { return id }
        return nil
    }

    /// The UUID, for that case.
    public var uuidID: UUID? {
        if case .uuid(let id) = self { return id }
        return nil
    }

    /// The object's identity, for that case.
    public var objectID: ManagedObjectID? {
        if case .objectID(let id) = self { return id }
        return nil
    }
}

extension WrappedID: CustomStringConvertible {
    /// The identity as text, without its kind.
    public var description: String {
        switch self {
        case .string(let id): return id
        case .integer(let id): return String(id)
        case .uuid(let id): return id.uuidString
        case .objectID(let id): return id.description
        }
    }
}
