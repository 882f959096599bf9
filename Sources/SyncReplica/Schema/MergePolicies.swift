import Foundation
import SyncMerge
import SyncStorage
import SyncValues

/// How the entities of a store merge, as its owner chose. The same on every replica: the tables are
/// a function of the facts, the schema and the policies. Sent with the schema.
public struct MergePolicies: Sendable, Hashable, Codable {
    /// What makes two rows of an entity with an INTEGER PRIMARY KEY the same object.
    public enum Identity: String, Sendable, Hashable, Codable, CaseIterable {
        /// The number is private to each replica; equal numbers of two replicas are different
        /// objects.
        case number
        /// The number is the same on every replica; equal numbers of two replicas are different
        /// objects, and the one that claimed the number later gets another one.
        case shared
        /// Equal keys are the same object.
        case key
    }

    /// The policies of one entity; what is nil is the default.
    public struct EntityPolicy: Sendable, Hashable, Codable {
        /// See ``MergePolicies/Identity``; `number` by default.
        public var identity: Identity?
        /// See ``DeletePolicy``; `deleteWins` by default.
        public var deletes: DeletePolicy?
        /// See ``UniquePolicy``; `merge` by default.
        public var unique: UniquePolicy?
        /// See ``MergePolicies/Properties``; `lastWriter` by default.
        public var properties: Properties?
        /// References that the schema does not declare: column to entity. When the target is
        /// deleted, the column becomes NULL; where it is NOT NULL, the target stays.
        public var references: [String: String]?
        /// How single properties merge, by name; the others follow `properties`.
        public var columns: [String: CellPolicy]?

        /// The defaults, except for what is given.
        public init(
            identity: Identity? = nil, deletes: DeletePolicy? = nil, unique: UniquePolicy? = nil,
            properties: Properties? = nil, references: [String: String]? = nil,
            columns: [String: CellPolicy]? = nil
        ) {
            self.identity = identity
            self.deletes = deletes
            self.unique = unique
            self.properties = properties
            self.references = references
            self.columns = columns
        }
    }

    /// By the name of the entity, as SQLite compares names.
    public var entities: [String: EntityPolicy]

    /// How often they were changed. They are sent with each batch; of two, the one with the greater
    /// revision is in force on every replica.
    public internal(set) var revision = 0

    /// The last revision: the policies cannot be changed any more.
    static let revisionMax = Int(Int32.max)
    /// The greatest accepted step of a batch's revision: people change policies by hand.
    private static let revisionStepMax = 1_000_000

    /// The defaults, except for the named entities.
    public init(entities: [String: EntityPolicy] = [:]) { self.entities = entities }

    /// Whether they are in force where both are known: the same answer on every replica.
    /// - Throws: what the encoder throws.
    func isNewer(than other: Self) throws -> Bool {
        if revision != other.revision { return revision > other.revision }
        return self != other ? try json() > other.json() : false
    }

    /// The part of an entity's policy that determines its objects: identity, references and cells.
    /// It cannot change once facts are recorded.
    func frame(of entity: String) -> EntityPolicy {
        let policy = policy(of: entity)
        return EntityPolicy(
            identity: policy.identity ?? .number,
            properties: policy.properties == .object ? .object : .lastWriter,
            references: policy.references ?? [:])
    }

    /// The policy of an entity; the defaults where none was chosen.
    func policy(of entity: String) -> EntityPolicy {
        entities.first { SQLName.isEqual($0.key, to: entity) }?.value ?? EntityPolicy()
    }

    /// Whether an entity has shared numbers.
    var shareNumbers: Bool { entities.values.contains { $0.identity == .shared } }

    // MARK: JSON

    /// Reads ``json()``.
    /// - Throws: `badData` for text that is not written by ``json()``.
    init(json: String) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
        } catch {
            throw SyncError(
                .badData, "the merge policies of the store cannot be read", underlying: error)
        }
    }

    /// The stored policies, by identities; the defaults where none are stored.
    /// - Throws: as ``init(json:)``; SQLite errors.
    init(storedIn settings: Metadata) throws {
        guard case .text(let json) = try settings.value(.policies) else {
            self.init()
            return
        }
        try self.init(json: json)
    }

    /// The policies of a batch's sender; nil when it has the defaults.
    /// - Throws: `badData` for text that cannot be read, and for a revision out of range.
    init?(batch: Batch) throws {
        if batch.extras.policies.isEmpty { return nil }
        try self.init(json: batch.extras.policies)
        guard 0...Self.revisionMax ~= revision else { throw invalidRevision }
    }

    /// Whether they are to be adopted in place of `present`.
    /// - Throws: `badData` for a revision that is too far ahead: policies of the last revision
    ///   could never be replaced.
    func shouldReplace(_ present: Self) throws -> Bool {
        guard try isNewer(than: present) else { return false }
        guard revision <= max(0, present.revision) + Self.revisionStepMax else {
            throw invalidRevision
        }
        return true
    }

    private var invalidRevision: SyncError {
        SyncError(
            .badData,
            "the merge policies of the batch have the revision \(revision), which is too far ahead")
    }

    /// The policies as JSON with sorted keys: equal policies have equal text.
    /// - Throws: what the encoder throws.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

extension MergePolicies {
    private enum CodingKeys: String, CodingKey { case entities, revision }

    /// - Throws: what the decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        entities = try container.decode([String: EntityPolicy].self, forKey: .entities)
        revision = try container.decodeIfPresent(Int.self, forKey: .revision) ?? 0
    }
}
