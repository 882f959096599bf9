import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

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
    public enum Properties: Sendable, Hashable {
        /// One by one; the last writer of each wins.
        case lastWriter
        /// One by one; the first of several who wrote at the same time wins.
        case firstWriter
        /// One by one; where a replica wrote at the same time as others, it wins.
        case preferring(ReplicaID)
        /// The whole row is one value; the last writer wins.
        case object
    }

    /// How one property merges. *At the same time* means: none had seen what the other wrote.
    /// ``counter``, ``set`` and ``text`` are for properties that no key, UNIQUE, CHECK or reference
    /// looks at.
    public enum Property: Sendable, Hashable {
        /// The last writer wins.
        case lastWriter
        /// The first of several who wrote at the same time wins.
        case firstWriter
        /// Where this replica wrote at the same time as others, it wins; else the last one.
        case preferring(ReplicaID)
        /// A number: what each writer added counts.
        case counter
        /// A JSON array: what each writer added is in it, what each removed is not, unless somebody
        /// adds it at the same time.
        case set
        /// Text: the changes of all writers, line by line. Where two changed the same lines, the
        /// last one wins, and the other text is in the conflict log.
        case text
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
        /// How single properties merge, by name; the others go by `properties`.
        public var columns: [String: Property]?

        /// The defaults, but for what is given.
        public init(
            identity: Identity? = nil, deletes: Deletes? = nil, unique: Unique? = nil,
            properties: Properties? = nil, references: [String: String]? = nil,
            columns: [String: Property]? = nil
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

    /// How often they were changed. They travel with each batch, and of two the one that was
    /// changed more often holds, on every replica.
    public internal(set) var revision = 0

    /// The last revision: whoever wrote it, nobody can change the policies any more.
    static let revisionMax = Int(Int32.max)
    /// A batch is not believed to be further ahead: people change policies by hand.
    private static let revisionStepMax = 1_000_000

    /// The defaults, but for the entities that are named.
    public init(entities: [String: EntityPolicy] = [:]) { self.entities = entities }

    /// Whether they hold where both are known: the same answer on every replica.
    func isNewer(than other: Self) throws -> Bool {
        if revision != other.revision { return revision > other.revision }
        return self != other ? try json() > other.json() : false
    }

    /// The policy that an entity's objects are made by: identity, references and cells. It cannot
    /// change any more when facts have been stated.
    func frame(of entity: String) -> EntityPolicy {
        let policy = policy(of: entity)
        return EntityPolicy(
            identity: policy.identity == .key ? .key : .number,
            properties: policy.properties == .object ? .object : .lastWriter,
            references: policy.references ?? [:])
    }

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

    /// Those of a batch's sender; nil when it had the defaults.
    /// - Throws: `badData` for text that cannot be read, and a revision that no sender can have.
    init?(batch: Batch) throws {
        if batch.extras.policies.isEmpty { return nil }
        try self.init(json: batch.extras.policies)
        guard 0...Self.revisionMax ~= revision else { throw invented }
    }

    /// Whether they are to be adopted after `present`.
    /// - Throws: `badData` for a revision that is too far ahead: adopted, policies of the last
    ///   revision could never be replaced.
    func replace(_ present: Self) throws -> Bool {
        guard try isNewer(than: present) else { return false }
        guard revision <= max(0, present.revision) + Self.revisionStepMax else { throw invented }
        return true
    }

    private var invented: SyncError {
        SyncError(
            .badData,
            "the merge policies of the batch have the revision \(revision), which nobody can have "
                + "come to")
    }

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

// MARK: Names

/// What stands in JSON, and on a command line, as one word, or as a word and a replica.
private protocol NamedPolicy: Codable, LosslessStringConvertible {
    init?(name: String, replica: ReplicaID?)
    var name: (word: String, replica: ReplicaID?) { get }
}

extension NamedPolicy {
    /// Reads ``description``; nil for words that are none.
    public init?(_ description: String) {
        let words = description.split(separator: " ").map(String.init)
        let replica = words.count == 2 ? ReplicaID(words[1]) : nil
        guard words.count == 1 || replica != nil else { return nil }
        self.init(name: words.first ?? "", replica: replica)
    }

    /// One word, or a word and 32 hexadecimal digits.
    public var description: String {
        let (word, replica) = name
        return replica.map { "\(word) \($0)" } ?? word
    }

    /// - Throws: what a decoder throws for words that are none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let policy = Self(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(text) is no policy")
        }
        self = policy
    }

    /// ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension MergePolicies.Properties: NamedPolicy, LosslessStringConvertible {
    init?(name: String, replica: ReplicaID?) {
        switch (name, replica) {
        case ("lastWriter", nil): self = .lastWriter
        case ("firstWriter", nil): self = .firstWriter
        case ("object", nil): self = .object
        case ("preferring", let replica?): self = .preferring(replica)
        default: return nil
        }
    }

    var name: (word: String, replica: ReplicaID?) {
        switch self {
        case .lastWriter: return ("lastWriter", nil)
        case .firstWriter: return ("firstWriter", nil)
        case .object: return ("object", nil)
        case .preferring(let replica): return ("preferring", replica)
        }
    }

    /// What merging makes of it.
    var cellPolicy: CellPolicy {
        switch self {
        case .lastWriter, .object: return .lastWriter
        case .firstWriter: return .firstWriter
        case .preferring(let replica): return .preferring(replica)
        }
    }
}

extension MergePolicies.Property: NamedPolicy, LosslessStringConvertible {
    init?(name: String, replica: ReplicaID?) {
        switch (name, replica) {
        case ("lastWriter", nil): self = .lastWriter
        case ("firstWriter", nil): self = .firstWriter
        case ("counter", nil): self = .counter
        case ("set", nil): self = .set
        case ("text", nil): self = .text
        case ("preferring", let replica?): self = .preferring(replica)
        default: return nil
        }
    }

    var name: (word: String, replica: ReplicaID?) {
        switch self {
        case .lastWriter: return ("lastWriter", nil)
        case .firstWriter: return ("firstWriter", nil)
        case .counter: return ("counter", nil)
        case .set: return ("set", nil)
        case .text: return ("text", nil)
        case .preferring(let replica): return ("preferring", replica)
        }
    }

    /// What merging makes of it.
    package var cellPolicy: CellPolicy {
        switch self {
        case .lastWriter: return .lastWriter
        case .firstWriter: return .firstWriter
        case .preferring(let replica): return .preferring(replica)
        case .counter: return .counter
        case .set: return .set
        case .text: return .text
        }
    }
}

extension MergePolicies {
    private enum CodingKeys: String, CodingKey { case entities, revision }

    /// - Throws: what a decoder throws.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        entities = try container.decode([String: EntityPolicy].self, forKey: .entities)
        revision = try container.decodeIfPresent(Int.self, forKey: .revision) ?? 0
    }
}
