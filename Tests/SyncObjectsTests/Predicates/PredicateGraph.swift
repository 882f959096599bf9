import Foundation
import GRDB
import SyncCore
import SyncTesting

@testable import SyncObjects

/// Random groups, tasks, memos and tags, once in SQLite and once as plain subjects in memory.
final class PredicateGraph {
    final class Node: PredicateSubject {
        let layout: EntityLayout
        let key: Int64
        var values: [Value]
        unowned let graph: PredicateGraph

        init(_ layout: EntityLayout, key: Int64, in graph: PredicateGraph) {
            self.layout = layout
            self.key = key
            self.graph = graph
            values = layout.slots.map(\.defaultValue)
        }

        func value(atSlot slot: Int) -> Value { values[slot] }
        var reference: Value { .integer(key) }

        func target(ofRelation relation: Int) -> (any PredicateSubject)? {
            let relation = layout.relations[relation]
            switch relation.storage {
            case .reference(let slot):
                guard case .integer(let key) = values[slot] else { return nil }
                return graph.nodes[relation.destinationRoot]?[key]
            default: return others(relation).first
            }
        }

        func members(ofRelation relation: Int) -> [any PredicateSubject] {
            others(layout.relations[relation])
        }

        private func others(_ relation: EntityLayout.Relation) -> [Node] {
            let all = (graph.nodes[relation.destinationRoot] ?? [:]).values
                .sorted { $0.key < $1.key }
            switch relation.storage {
            case .inverse(_, let slot, _): return all.filter { $0.values[slot] == reference }
            case .join(_, let isSource):
                return all.filter { other in
                    graph.pairs.contains {
                        isSource ? $0 == (key, other.key) : $0 == (other.key, key)
                    }
                }
            case .reference: return []
            }
        }
    }

    let model: ManagedObjectModel
    let queue: DatabaseQueue
    var nodes: [String: [Int64: Node]] = [:]
    var pairs: [(Int64, Int64)] = []

    static let words = ["", "a", "A", "ab", "Äb", "ab*", "b%", "é", "abc", "a_c"]

    init(_ random: inout SeededRandom) throws {
        var entities = TodoModel.entities()
        entities[1].attributes += [
            AttributeDescription("price", .decimal, optional: true),
            AttributeDescription("ratio", .double, optional: true),
            AttributeDescription("stars", .integer64, optional: true),
        ]
        entities[1].relationships.append(.toMany("tags", to: "Tag", inverse: "tasks"))
        entities.append(
            EntityDescription(
                "Tag", attributes: [AttributeDescription("name", optional: true)],
                relationships: [.toMany("tasks", to: "C_Task", inverse: "tags")]))
        model = try ManagedObjectModel(entities)
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { SQLFunctions.install($0) }
        queue = try DatabaseQueue(configuration: configuration)
        try queue.writeWithoutTransaction { try SchemaMigrator(model: model).run($0) }
        try fill(&random)
    }

    private func fill(_ random: inout SeededRandom) throws {
        for (name, count) in [("C_Group", 4), ("C_Task", 14), ("C_Memo", 8), ("Tag", 4)] {
            let layout = try model.entity(name)
            for key in 1...Int64(count) {
                let node = Node(layout, key: key, in: self)
                for (index, slot) in layout.slots.enumerated() {
                    node.values[index] = value(slot, &random)
                }
                nodes[name, default: [:]][key] = node
                try insert(node)
            }
        }
        for task in 1...14 {
            for tag in 1...4 where random.next() % 3 == 0 {
                // Sources are tasks: "C_Task.tags" comes before "Tag.tasks".
                pairs.append((Int64(task), Int64(tag)))
                try queue.write {
                    try $0.execute(
                        sql: "INSERT INTO C_Task_tags(source, target) VALUES (?, ?)",
                        arguments: [task, tag])
                }
            }
        }
    }

    private func value(_ slot: EntityLayout.Slot, _ random: inout SeededRandom) -> Value {
        if random.next() % 4 == 0, slot.name != "title" || slot.defaultValue == .null,
            !["priority", "completed", "myDay"].contains(slot.name)
        {
            return .null
        }
        switch slot.name {
        case "group": return .integer(Int64(random.next() % 6))
        case "task": return .integer(Int64(random.next() % 16))
        case "priority": return .integer(Int64(random.next() % 5))
        case "stars": return .integer(Int64(random.next() % 5) - 2)
        case "completed", "myDay": return .integer(Int64(random.next() % 2))
        case "price": return .text(["0.1", "10", "9.5", "-2"][Int(random.next() % 4)])
        case "ratio": return .real([0, 1, 0.5, -3][Int(random.next() % 4)])
        case "createDate": return .text(DateCoding.text(Self.date(Int(random.next() % 5))))
        default: return .text(Self.words[Int(random.next() % UInt64(Self.words.count))])
        }
    }

    static func date(_ day: Int) -> Date { Date(timeIntervalSince1970: Double(day) * 86_400) }

    private func insert(_ node: Node) throws {
        let table = node.layout.table
        let names = ["id"] + table.columns.map(\.name)
        let values: [DatabaseValue] =
            [node.key.databaseValue]
            + node.layout.slots.map { slot in
                Self.databaseValue(node.values[node.layout.slotIndex[slot.name] ?? 0])
            }
        try queue.write {
            try $0.execute(
                sql: "INSERT INTO \(SQLText.quoted(table.name))(\(SQLText.list(names)))"
                    + " VALUES (\(SQLText.marks(names.count)))",
                arguments: StatementArguments(values))
        }
    }

    static func databaseValue(_ value: Value) -> DatabaseValue {
        switch value {
        case .null: return .null
        case .integer(let number): return number.databaseValue
        case .real(let number): return number.databaseValue
        case .text(let text): return text.databaseValue
        case .blob(let bytes): return Data(bytes).databaseValue
        }
    }

    func sqlKeys(_ predicate: BoundPredicate, _ entity: EntityLayout) throws -> [Int64] {
        var sql = PredicateSQL()
        let condition = try sql.condition(predicate, on: "t0")
        let text =
            "SELECT t0.id FROM \(SQLText.quoted(entity.table.name)) t0 WHERE \(condition)"
            + " ORDER BY t0.id"
        return try queue.read {
            try Int64.fetchAll(
                $0, sql: text,
                arguments: StatementArguments(sql.arguments.map(Self.databaseValue)))
        }
    }

    func memoryKeys(_ predicate: BoundPredicate, _ entity: EntityLayout) -> [Int64] {
        (nodes[entity.name] ?? [:]).values
            .filter { PredicateEvaluator.evaluate(predicate, on: $0) }.map(\.key).sorted()
    }
}
