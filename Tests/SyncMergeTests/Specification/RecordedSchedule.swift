import Foundation
import SyncMerge
import SyncTesting

/// One line of `Tests/Specification/merge/schedules.py`: a random schedule, and what the
/// specification made of each step.
struct RecordedSchedule: Decodable {
    let seed: Int
    let entities: [Entity]
    let replicas: [String]
    let events: [Event]

    struct Entity: Decodable {
        struct Column: Decodable {
            let name: String
            let required: Bool
            let `default`: Scalar?
            let renameable: Bool
        }
        struct Reference: Decodable {
            let columns: [Int]
            let target: Int
            let action: String
        }
        struct Check: Decodable {
            let columns: [Int]
            let sql: String
        }
        struct Claim: Decodable {
            let terms: [Int]
            let lower: [Int]
            /// A column, and the value that the rows have there.
            let flag: [Int64]?
        }
        let name: String
        let columns: [Column]
        let key: [Int]
        let `private`: Bool
        let claims: [Claim]
        let references: [Reference]
        let checks: [Check]
        let deleteWins: Bool
        let uniquePolicy: String
    }

    struct Event: Decodable {
        let `do`: String
        let replica: String?
        let from: String?
        let to: String?
        let id: Int?
        let since: [String: Int64]?
        let first: Int?
        let facts: Int?
        let merged: Bool?
        let number: Int64?
        let time: UInt64?
        let names: [NamedKey]?
        let rows: [Row]?
        let recreated: [Key]?
        let rekeyed: [[Key]]?
        let drawn: [String]?
        let stable: [String: Int64]?
        let dropped: Int?
        let after: State?
    }

    /// `[entity, [value, …]]`
    struct Key: Decodable {
        let key: RowKey
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            let entity = try list.decode(Int.self)
            key = RowKey(entity: entity, try list.decode([Scalar].self).map(\.value))
        }
    }

    /// `[entity, [value, …], identity]`
    struct NamedKey: Decodable {
        let key: RowKey
        let name: ObjectUID
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            let entity = try list.decode(Int.self)
            key = RowKey(entity: entity, try list.decode([Scalar].self).map(\.value))
            name = try ObjectUID(recorded: try list.decode(String.self))
        }
    }

    /// `[entity, [key value, …], [value, …]]`
    struct Row: Decodable {
        let row: Commit.Row
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            let entity = try list.decode(Int.self)
            let key = RowKey(entity: entity, try list.decode([Scalar].self).map(\.value))
            row = Commit.Row(key, values: try list.decode([Scalar].self).map(\.value))
        }
    }

    /// A plain value, or a reference.
    enum Scalar: Decodable {
        case plain(Value)
        case reference(ObjectUID, Int)

        private enum Keys: String, CodingKey { case r, p }

        init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: Keys.self) {
                let uid = try ObjectUID(recorded: try object.decode(String.self, forKey: .r))
                self = .reference(uid, try object.decode(Int.self, forKey: .p))
                return
            }
            let single = try decoder.singleValueContainer()
            if single.decodeNil() {
                self = .plain(.null)
            } else if let number = try? single.decode(Int64.self) {
                self = .plain(.integer(number))
            } else {
                self = .plain(.text(try single.decode(String.self)))
            }
        }

        var value: Value {
            if case .plain(let value) = self { return value }
            return .null
        }

        var field: Field {
            switch self {
            case .plain(let value): return .value(value)
            case .reference(let uid, let part): return .reference(uid, part: part)
            }
        }
    }

    /// `[object, cell, replica, number]`, for a conflict with its reason at the end.
    struct Source: Decodable {
        let id: VersionID
        let reason: ConflictReason?
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            let object = try ObjectUID(recorded: try list.decode(String.self))
            let cell = try list.decode(Int.self)
            let replica = SimulatedReplica.id(Character(try list.decode(String.self)))
            id = VersionID(object, cell: cell, dot: Dot(replica, try list.decode(Int64.self)))
            reason =
                list.isAtEnd
                ? nil : ConflictReason(rawValue: try list.decode(String.self))
        }
    }

    /// What a replica shows.
    struct State: Decodable {
        struct Row: Decodable {
            let row: ShownRow
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                let name = try ObjectUID(recorded: try list.decode(String.self))
                let entity = try list.decode(Int.self)
                let members = try list.decode([String].self).map(ObjectUID.init(recorded:))
                let fields = try list.decode([Scalar].self).map(\.field)
                let sources = try list.decode([Source?].self).map { $0?.id }
                row = ShownRow(
                    entity: entity, name: name, members: members, fields: fields, sources: sources)
            }
        }
        let vector: [String: Int64]
        let rows: [Row]
        let conflicts: [Source]
    }
}

extension ObjectUID {
    init(recorded text: String) throws {
        guard let uid = ObjectUID(text) else { throw SimulationFailure("no identity: \(text)") }
        self = uid
    }
}

extension VersionVector {
    init(recorded: [String: Int64]) {
        self.init(recorded.map { Dot(SimulatedReplica.id(Character($0.key)), $0.value) })
    }
}

extension RecordedSchedule {
    /// The schema that the schedule ran on.
    var schema: MergeSchema {
        MergeSchema(
            entities.map { entity in
                MergeEntity(
                    name: entity.name,
                    columns: entity.columns.map { column in
                        MergeEntity.Column(
                            column.name, isRequired: column.required,
                            defaultValue: column.default?.value ?? .null,
                            isRenameable: column.renameable)
                    },
                    key: entity.key, identity: entity.private ? .privateNumber : .key,
                    claims: entity.claims.map(Self.claim),
                    references: entity.references.map {
                        .init($0.columns, to: $0.target, onDelete: Self.action($0.action))
                    },
                    checks: entity.checks.map { check in
                        .init(check.columns) {
                            Self.check(check.sql).accepts($0, comparedBy: .binary)
                        }
                    },
                    deletePolicy: entity.deleteWins ? .deleteWins : .editWins,
                    uniquePolicy: Self.policy(entity.uniquePolicy))
            })
    }

    private static func claim(_ claim: Entity.Claim) -> MergeEntity.Claim {
        guard !claim.lower.isEmpty || claim.flag != nil else {
            return MergeEntity.Claim(claim.terms, collations: claim.terms.map { _ in .binary })
        }
        return SimulatedIndex(
            terms: claim.terms, lower: Set(claim.lower),
            flag: claim.flag.map { (column: Int($0[0]), value: $0[1]) }
        ).claim
    }

    private static func action(_ sql: String) -> MergeEntity.Reference.Action {
        switch sql {
        case "CASCADE": return .cascade
        case "SET NULL": return .setNull
        case "SET DEFAULT": return .setDefault
        default: return .restrict
        }
    }

    private static func policy(_ name: String) -> UniquePolicy {
        switch name {
        case "keepBoth": return .keepBoth
        case "laterLoses": return .laterLoses
        default: return .merge
        }
    }

    private static func check(_ sql: String) -> SimulatedCheck {
        if sql.contains("<=") { return .ordered }
        return sql.contains("<>") ? .differ : .present
    }
}
