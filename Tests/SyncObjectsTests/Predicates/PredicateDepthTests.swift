import SyncTesting
import Testing

@testable import SyncObjects

/// Nesting ends at a limit of ours, with what to do; never at one of SQLite's.
@Suite("Predicates: depth and width") struct PredicateDepthTests {
    private static let leaf = "group.tasks.@count < group.tasks.@sum.stars"

    /// Predicates on tasks of a given number of levels, and how many levels must be possible.
    private static let nests: [(name: String, least: Int, text: @Sendable (Int) -> String)] = [
        ("NOT", 90, { String(repeating: "NOT ", count: $0) + leaf }),
        ("parentheses", 90, { wrap($0, "(", leaf, ")") }),
        ("NOT of chains", 10, { wrap($0, "NOT (stars == 1 OR ", leaf, ")") }),
        ("AND and OR", 9, { wrap($0, "(stars == 1 OR (stars == 2 AND ", leaf, "))") }),
        (
            "chains to the left", 9,
            { wrap($0, "((", leaf, " AND stars == 2) OR stars == 1)") }
        ),
        (
            "subqueries", 2,
            {
                wrap(
                    $0, "SUBQUERY(group.tasks, $x, ", "stars == 1 AND " + leaf, ").@count > 0")
            }
        ),
        (
            "steps", 8,
            { String(repeating: "memo.task.", count: $0) + "title CONTAINS[cd] 'a'" }
        ),
        ("steps to many", 6, { String(repeating: "memo.task.", count: $0) + "tags.@count == 1" }),
        (
            "one of many", 6,
            { "NONE " + String(repeating: "memo.task.", count: $0) + "tags.name LIKE[c] 'A'" }
        ),
    ]

    private static func wrap(
        _ count: Int, _ before: String, _ inner: String, _ after: String
    ) -> String {
        String(repeating: before, count: count) + inner + String(repeating: after, count: count)
    }

    @Test(arguments: nests.indices)
    func whatIsAcceptedIsReadBySQLite(_ index: Int) throws {
        let nest = Self.nests[index]
        var random = SeededRandom(seed: 1)
        let graph = try PredicateGraph(&random)
        let task = try graph.model.entity("C_Task")
        var accepted = 0
        for levels in 1...200 {
            do {
                let bound = try PredicateBinder(model: graph.model).bind(
                    try FetchPredicate(nest.text(levels)), to: task)
                let found = try graph.sqlKeys(bound, task)
                #expect(found == graph.memoryKeys(bound, task), "\(nest.name), \(levels)")
                accepted = levels
            } catch let error as ObjectError {
                #expect(error.code == .invalidPredicate)
                #expect(error.reason.contains("nested too deeply"), "\(error)")
                break
            }
        }
        #expect(nest.least..<200 ~= accepted, "\(nest.name): \(accepted) levels")
    }

    @Test func chainsAndListsHaveNoLimit() throws {
        var random = SeededRandom(seed: 1)
        let graph = try PredicateGraph(&random)
        let task = try graph.model.entity("C_Task")
        let numbers = (0..<3000).map { 2999 - $0 }
        let list = (0..<33_000).map { String(32_999 - $0) }.joined(separator: ", ")
        let words = (0..<1500).map { "'w\($0)', " }.joined() + "'A'"
        for text in [
            numbers.map { "priority == \($0)" }.joined(separator: " OR "),
            numbers.map { "priority != \($0 + 2)" }.joined(separator: " AND "),
            "priority IN {\(list)}", "3 IN {}", "NOT 3 IN {}", "3 IN {NIL}",
            "NOT priority IN {\(list)}", "title IN[c] {\(words)}",
        ] {
            let bound = try PredicateBinder(model: graph.model).bind(
                try FetchPredicate(text), to: task)
            #expect(try graph.sqlKeys(bound, task) == graph.memoryKeys(bound, task))
        }
    }

    @Test func chainsOfOperatorsAreChains() throws {
        let parts = try (0..<2000).map { try FetchPredicate("priority == \($0)") }
        let all = parts.dropFirst().reduce(parts[0]) { $0 || $1 }
        #expect(all == .or(parts))
        var random = SeededRandom(seed: 1)
        let graph = try PredicateGraph(&random)
        let task = try graph.model.entity("C_Task")
        let bound = try PredicateBinder(model: graph.model).bind(all, to: task)
        #expect(try graph.sqlKeys(bound, task) == graph.memoryKeys(bound, task))
        // What is nested by hand ends at the same limit, not on the stack.
        let deep = parts.dropFirst().reduce(parts[0]) { .or([$1, .and([$0])]) }
        #expect(throws: ObjectError.self) {
            try PredicateBinder(model: graph.model).bind(deep, to: task)
        }
    }
}
