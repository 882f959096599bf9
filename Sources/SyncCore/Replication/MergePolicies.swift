import Foundation

/// What the owner of a store chose for merging, by entity. The same on every replica: it is part of
/// what makes the tables a function of the facts, and travels with the schema.
public struct MergePolicies: Sendable, Hashable, Codable {
    /// What makes two rows of an entity with an INTEGER PRIMARY KEY the same object.
    public enum Identity: String, Sendable, Hashable, Codable {
        /// The number is private to each replica; equal numbers never meet.
        case number
        /// Equal keys are the same object.
        case key
    }

    /// Which side of an edit against a delete is shown.
    public enum Deletes: String, Sendable, Hashable, Codable {
        /// The object goes; the edit is in the conflict log.
        case deleteWins
        /// The object stays; the delete is in the conflict log.
        case editWins
    }

    /// What two objects that claim one UNIQUE value become.
    public enum Unique: String, Sendable, Hashable, Codable {
        /// One row, when one of the claims was made by an insert.
        case merge
        /// Two rows; the later claim is shown under another name.
        case keepBoth
        /// Two rows; the later claim is shown as NULL.
        case laterLoses
    }

    /// How the properties of an entity merge.
    public enum Properties: String, Sendable, Hashable, Codable {
        /// One by one; the last writer of each wins.
        case lastWriter
        /// The whole row is one value.
        case object
    }

    /// The choices for one entity; what is left out is the default.
    public struct EntityPolicy: Sendable, Hashable, Codable {
        /// See ``MergePolicies/Identity``; `number` by default.
        public var identity: Identity?
        /// See ``MergePolicies/Deletes``; `deleteWins` by default.
        public var deletes: Deletes?
        /// See ``MergePolicies/Unique``; `merge` by default.
        public var unique: Unique?
        /// See ``MergePolicies/Properties``; `lastWriter` by default.
        public var properties: Properties?
        /// References that the schema does not declare: column to entity. The end of the target
        /// leaves NULL where the column allows it, else the target stays.
        public var references: [String: String]?

        /// The defaults, but for what is given.
        public init(
            identity: Identity? = nil, deletes: Deletes? = nil, unique: Unique? = nil,
            properties: Properties? = nil, references: [String: String]? = nil
        ) {
            self.identity = identity
            self.deletes = deletes
            self.unique = unique
            self.properties = properties
            self.references = references
        }
    }

    /// By the name of the entity, as SQLite compares names.
    public var entities: [String: EntityPolicy]

    /// The defaults, but for the entities that are named.
    public init(entities: [String: EntityPolicy] = [:]) { self.entities = entities }

    func policy(of entity: String) -> EntityPolicy {
        entities.first { SQLName.equal($0.key, entity) }?.value ?? EntityPolicy()
    }

    // MARK: JSON

    /// - Throws: `badData` when the text is not what ``json()`` wrote.
    init(json: String) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
        } catch {
            throw SyncError(
                .badData, "the merge policies of the store cannot be read", underlying: error)
        }
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
