import Foundation
import GRDB
import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

@Suite struct PredicateTests {
    @Test func sqlAndMemoryAgree() throws {
        for seed in TestSeed.each(of: 1...40) {
            var random = seed.random
            let graph = try PredicateGraph(&random)
            for _ in 0..<60 {
                let name =
                    ["C_Task", "C_Task", "C_Group", "C_Memo", "Tag"].randomElement(
                        using: &random) ?? "C_Task"
                let entity = try graph.model.entity(name)
                let text = Self.predicate(of: name, depth: 3, random: &random)
                let bound = try PredicateBinder(model: graph.model).bind(
                    try FetchPredicate(text), to: entity)
                let expected = graph.memoryKeys(bound, entity)
                #expect(
                    try graph.sqlKeys(bound, entity) == expected, "\(seed): \(name) \(text)")
            }
        }
    }

    @Test func oddTextIsAnErrorThatSaysWhere() {
        let deep = [
            String(repeating: "{", count: 100_000), String(repeating: "(", count: 100_000),
            String(repeating: "NOT ", count: 100_000),
            String(repeating: "SUBQUERY(", count: 100_000),
        ]
        for text in deep + ["$.", "$. == 1", "rank == $..", "$"] {
            #expect(throws: ObjectError.self, "\(text.prefix(20))") { try FetchPredicate(text) }
        }
    }

    /// A random predicate about an entity of the graph.
    private static func predicate(
        of entity: String, depth: Int, random: inout SeededRandom
    ) -> String {
        if depth > 0 {
            switch random.next() % 6 {
            case 0:
                return "(\(predicate(of: entity, depth: depth - 1, random: &random)) AND "
                    + "\(predicate(of: entity, depth: depth - 1, random: &random)))"
            case 1:
                return "(\(predicate(of: entity, depth: depth - 1, random: &random)) OR "
                    + "\(predicate(of: entity, depth: depth - 1, random: &random)))"
            case 2: return "NOT (\(predicate(of: entity, depth: depth - 1, random: &random)))"
            default: break
            }
        }
        return leaf(of: entity, depth: depth, random: &random)
    }

    private static func leaf(
        of entity: String, depth: Int, random: inout SeededRandom
    ) -> String {
        let text: (String, inout SeededRandom) -> String = { path, random in
            let operators = [
                "==", "!=", "<", ">=", "==[c]", "!=[cd]", "CONTAINS", "CONTAINS[cd]", "BEGINSWITH",
                "BEGINSWITH[c]", "ENDSWITH", "LIKE", "LIKE[c]", "MATCHES",
            ]
            let name = operators.randomElement(using: &random) ?? "=="
            let words = PredicateGraph.words.filter { name != "MATCHES" || !$0.contains("*") }
            let word = words.randomElement(using: &random) ?? ""
            let value =
                random.next() % 8 == 0 && !name.contains("S") && !name.contains("K")
                ? "NIL" : "'\(word)'"
            return "\(path) \(name) \(value)"
        }
        let number: (String, inout SeededRandom) -> String = { path, random in
            let name = ["==", "!=", "<", "<=", ">", ">="].randomElement(using: &random) ?? "=="
            let value = ["0", "1", "2", "-1", "0.5", "10", "9.50", "NIL"].randomElement(
                using: &random)
            return "\(path) \(name) \(value ?? "0")"
        }
        let choices: [String]
        switch entity {
        case "C_Task":
            choices = [
                text("title", &random), number("priority", &random), number("stars", &random),
                number("price", &random), number("ratio", &random), "completed == YES",
                "createDate > NIL", text("group.title", &random), "group == NIL", "group != NIL",
                text("memo.content", &random), "memo == NIL", number("group.tasks.@count", &random),
                "ANY tags.name == 'a'", text("ALL tags.name", &random),
                text("NONE tags.name", &random), number("tags.@count", &random),
                "priority IN {1, 3}", "stars IN {1, NIL}", "priority BETWEEN {1, 2}",
                "title IN {'a', 'é', NIL}", "stars < priority", "price > ratio",
                "SUBQUERY(tags, $x, $x.name BEGINSWITH 'a').@count > 0",
                "ANY tags.tasks.priority > 3",
            ]
        case "C_Group":
            choices = [
                text("title", &random), number("tasks.@count", &random),
                number("tasks.@sum.stars", &random), number("tasks.@max.priority", &random),
                number("tasks.@min.price", &random), number("tasks.stars.@avg", &random),
                text("ANY tasks.title", &random), text("ANY tasks.memo.content", &random),
                "NONE tasks.completed == YES", "ALL tasks.priority > 0",
                "SUBQUERY(tasks, $x, $x.completed == YES AND $x.memo != NIL).@count >= 1",
                "ANY tasks.tags.name == 'ab'",
            ]
        case "C_Memo":
            choices = [
                text("content", &random), text("task.title", &random),
                text("task.group.title", &random), "task.group == NIL",
                number("task.tags.@count", &random), "task == NIL",
            ]
        default:
            choices = [
                text("name", &random), "ANY tasks.completed == YES",
                text("ANY tasks.group.title", &random), number("tasks.@sum.priority", &random),
            ]
        }
        return choices.randomElement(using: &random) ?? "TRUEPREDICATE"
    }

    @Test func mistakesSayWhere() throws {
        let cases: [(String, String)] = [
            ("title = = 3", "at character 9"), ("title 'x'", "at character 7"),
            ("title == 'x", "at character 10"), ("(title == 'x'", "expected “)”"),
            ("title == 'x' garbage", "expected AND, OR or the end"),
            ("a == %@", "no argument"), ("a == $who", "no value is given for “$who”"),
            ("a BETWEEN 3", "two bounds"), ("a ==[x] 3", "options are c and d"),
            ("a ~ 3", "“~” is not expected here"), ("a. == 3", "a name is missing"),
            ("1.2.3 == a", "not a number"),
        ]
        for (text, reason) in cases {
            let error = #expect(throws: ObjectError.self) { try FetchPredicate(text) }
            #expect(error?.code == .invalidPredicate)
            #expect(error?.reason.contains(reason) == true, "\(text): \(error?.reason ?? "")")
        }
        #expect(throws: ObjectError(.invalidPredicate, "")) { try FetchPredicate("a == 1", "more") }
        let deep = String(repeating: "(", count: 5000)
        #expect(throws: ObjectError(.invalidPredicate, "")) { try FetchPredicate(deep) }
        let not = String(repeating: "!", count: 5000)
        #expect(throws: ObjectError(.invalidPredicate, "")) { try FetchPredicate(not) }
    }

    @Test func wrongNamesAndTypesAreFoundBeforeAnythingIsRead() throws {
        let model = try TodoModel.make()
        let task = try model.entity("C_Task")
        for text in [
            "nothing == 1", "title == 3", "priority == 'x'", "group < 3", "priority CONTAINS 'x'",
            "ANY group.title == 'x'", "group.tasks.title == 'x'", "completed == 'maybe'",
            "group == 'x'", "title IN 'x'", "tasks.@median.x == 1", "createDate > 'tomorrow'",
        ] {
            #expect(throws: ObjectError.self, "\(text)") {
                try PredicateBinder(model: model).bind(try FetchPredicate(text), to: task)
            }
        }
    }

    @Test func argumentsTakeTheirPlaces() throws {
        let predicate = try FetchPredicate("%K == %@ AND n IN %@", "a.b", "x", [1, 2])
        #expect(
            predicate
                == .and([
                    .comparison(.init(.keyPath(["a", "b"]), .equal, .constant(.text("x")))),
                    .comparison(
                        .init(.keyPath(["n"]), .isIn, .constant(.list([.integer(1), .integer(2)])))),
                ]))
        #expect(
            try FetchPredicate("n == $x", variables: ["x": 3])
                == .comparison(.init(.keyPath(["n"]), .equal, .constant(.integer(3)))))
    }

    @Test func plansUseIndexes() throws {
        var random = SeededRandom(seed: 1)
        let graph = try PredicateGraph(&random)
        let cases = [
            ("C_Task", "priority == 3", "C_Task_priority"),
            ("C_Task", "priority > 3 AND title == 'x'", "C_Task_priority"),
            ("C_Task", "priority IN {1, 2}", "C_Task_priority"),
            ("C_Group", "ANY tasks.title == 'x'", "C_Task_group"),
            ("C_Group", "tasks.@count > 3", "C_Task_group"),
            ("C_Task", "memo.content == 'x'", "C_Memo_task"),
        ]
        for (name, text, index) in cases {
            let entity = try graph.model.entity(name)
            var sql = PredicateSQL()
            let condition = try sql.condition(
                try PredicateBinder(model: graph.model).bind(try FetchPredicate(text), to: entity),
                on: "t0"
            )
            let query = "EXPLAIN QUERY PLAN SELECT * FROM \(name) t0 WHERE \(condition)"
            let arguments = sql.arguments.map(PredicateGraph.databaseValue)
            let plan = try graph.queue.read { db in
                try Row.fetchAll(db, sql: query, arguments: StatementArguments(arguments))
                    .map { $0["detail"] as String }.joined(separator: "\n")
            }
            #expect(plan.contains(index), "\(text): \(plan)")
        }
    }
}
