import SyncMerge
import SyncTesting

/// Builds the small stores of the scenarios.
enum Stage {
    typealias Reference = MergeEntity.Reference
    typealias Column = MergeEntity.Column

    /// Replicas A, B, … of one empty store.
    static func replicas(
        _ count: Int = 2, _ entities: [MergeEntity], _ tables: [String]
    ) throws -> [SimulatedReplica] {
        let schema = SimulatedSchema(MergeSchema(entities), tables: tables)
        return try "ABC".prefix(count).enumerated().map { index, name in
            try SimulatedReplica(name, schema: schema, seed: UInt64(index))
        }
    }

    /// P(k, d) and C(k, f → P, d).
    static func parentAndChild(
        _ action: Reference.Action, actionSQL: String? = nil, isRequired: Bool = false,
        childPolicy: DeletePolicy = .deleteWins, fallback: String? = nil,
        refusesNull: Bool = false, count: Int = 2
    ) throws -> [SimulatedReplica] {
        let parent = MergeEntity(
            name: "P", columns: [Column("k", isRequired: true), Column("d")], key: [0],
            identity: .key)
        let child = MergeEntity(
            name: "C",
            columns: [
                Column("k", isRequired: true),
                Column(
                    "f", isRequired: isRequired, defaultValue: fallback.map(Value.text) ?? .null),
                Column("d"),
            ],
            key: [0], identity: .key, references: [Reference([1], to: 0, onDelete: action)],
            checks: refusesNull ? [.init([1]) { !$0[0].isNull }] : [], deletePolicy: childPolicy)
        let column =
            "f TEXT" + (isRequired ? " NOT NULL" : "") + (fallback.map { " DEFAULT '\($0)'" } ?? "")
        let check = refusesNull ? ", CHECK(f IS NOT NULL)" : ""
        return try replicas(
            count, [parent, child],
            [
                "CREATE TABLE P(k TEXT PRIMARY KEY NOT NULL, d TEXT)",
                "CREATE TABLE C(k TEXT PRIMARY KEY NOT NULL, \(column), d TEXT\(check), "
                    + "FOREIGN KEY(f) REFERENCES P(k) ON DELETE \(actionSQL ?? action.sql) "
                    + "ON UPDATE CASCADE)",
            ])
    }

    /// P(id, u UNIQUE, d) and C(id, f → P, x, UNIQUE(f, x)), both with private numbers.
    static func uniqueParents(
        _ policy: UniquePolicy = .merge, count: Int = 2
    ) throws -> [SimulatedReplica] {
        let parent = MergeEntity(
            name: "P",
            columns: [
                Column("id", isRequired: true), Column("u", isRenameable: true), Column("d"),
            ],
            key: [0], identity: .privateNumber, uniques: [[1]], uniquePolicy: policy)
        let child = MergeEntity(
            name: "C", columns: [Column("id", isRequired: true), Column("f"), Column("x")],
            key: [0], identity: .privateNumber, uniques: [[1, 2]],
            references: [Reference([1], to: 0, onDelete: .cascade)])
        return try replicas(
            count, [parent, child],
            [
                "CREATE TABLE P(id INTEGER PRIMARY KEY, u TEXT UNIQUE, d TEXT)",
                "CREATE TABLE C(id INTEGER PRIMARY KEY, f INTEGER REFERENCES P(id) "
                    + "ON DELETE CASCADE ON UPDATE CASCADE, x TEXT, UNIQUE(f, x))",
            ])
    }

    /// A table that others refer to by a TEXT key.
    static func named(
        _ name: String, refersTo target: Int? = nil, _ action: Reference.Action = .cascade,
        isRequired: Bool = false, fallback: Value = .null, extra: [Column] = []
    ) -> MergeEntity {
        var columns = [Column("k", isRequired: true)]
        var references: [Reference] = []
        if let target {
            columns.append(Column("f", isRequired: isRequired, defaultValue: fallback))
            references.append(Reference([1], to: target, onDelete: action))
        }
        return MergeEntity(
            name: name, columns: columns + extra, key: [0], identity: .key, references: references)
    }
}
