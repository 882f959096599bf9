import Foundation
import GRDB

@testable import SyncCore
@testable import SyncObjects

/// Predicates as text: an error that says where, or the same objects from SQL as in memory.
enum PredicateTarget {
    private static let model = Result {
        try ManagedObjectModel([
            EntityDescription(
                "Task",
                attributes: [
                    AttributeDescription("title", optional: true),
                    AttributeDescription("rank", .integer64, optional: true),
                    AttributeDescription("ratio", .double, optional: true),
                    AttributeDescription("price", .decimal, optional: true),
                    AttributeDescription("made", .date, optional: true),
                    AttributeDescription("done", .boolean, optional: true),
                    AttributeDescription("token", .uuid, optional: true),
                    AttributeDescription("blob", .binary, optional: true),
                ],
                relationships: [.toOne("box", to: "Box", inverse: "tasks")]),
            EntityDescription(
                "Box", attributes: [AttributeDescription("name", optional: true)],
                relationships: [.toMany("tasks", to: "Task", inverse: "box")]),
        ])
    }

    private static let database = Result {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { SQLFunctions.install($0) }
        let queue = try DatabaseQueue(configuration: configuration)
        let entities = try model.get()
        try queue.writeWithoutTransaction { try SchemaMigrator(model: entities).run($0) }
        try queue.write { database in
            try database.execute(
                sql: """
                    INSERT INTO Box(id, name) VALUES (1, 'a'), (2, NULL);
                    INSERT INTO Task(id, title, rank, ratio, price, box) VALUES
                      (1, 'one', 1, 0.5, '9.50', 1), (2, NULL, NULL, NULL, NULL, NULL),
                      (3, 'Äé%_*', -9223372036854775808, 9e999, '1e5', 2)
                    """)
        }
        return queue
    }

    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let kind = choices.byte() % 2
        let text = kind == 0 ? String(decoding: choices.rest, as: UTF8.self) : made(&choices)
        do {
            let predicate = try FetchPredicate(text)
            let entity = try model.get().entity("Task")
            let bound = try PredicateBinder(model: model.get()).bind(predicate, to: entity)
            for inlines in [false, true] {
                var sql = PredicateSQL(inlinesValues: inlines)
                let condition = try sql.condition(bound, on: "t0")
                let arguments = StatementArguments(sql.arguments.map(value))
                try database.get().read { database in
                    _ = try Int64.fetchAll(
                        database, sql: "SELECT t0.id FROM Task t0 WHERE \(condition)",
                        arguments: arguments)
                }
            }
        } catch is ObjectError {
            return
        } catch {
            throw Finding("'\(text)' threw \(error)")
        }
    }

    private static func value(_ value: Value) -> DatabaseValue {
        switch value {
        case .null: return .null
        case .integer(let number): return number.databaseValue
        case .real(let number): return number.databaseValue
        case .text(let text): return text.databaseValue
        case .blob(let bytes): return Data(bytes).databaseValue
        }
    }

    // MARK: Texts of the grammar

    private static func made(_ choices: inout FuzzChoices) -> String {
        var text = ""
        while !choices.isAtEnd, text.utf8.count < 2000 {
            text += choices.pick(words) ?? ""
            text += " "
        }
        return text
    }

    private static let words = [
        "title", "rank", "ratio", "price", "made", "done", "token", "blob", "box", "box.name",
        "box.tasks", "box.tasks.@count", "SELF", "==", "!=", "<", "<=", ">", ">=", "CONTAINS",
        "BEGINSWITH[cd]", "ENDSWITH[c]", "LIKE", "MATCHES", "IN", "BETWEEN", "AND", "OR", "NOT",
        "(", ")", "{", "}", ",", "'a'", "'*?%_'", "'[('", "''", "NIL", "YES", "NO", "0", "1", "-1",
        "0.5", "1e999", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "ANY", "ALL", "NONE", "SUBQUERY", "$x", "$x.rank", "@count", "@sum", "@max", ".", "+",
        "TRUEPREDICATE", "FALSEPREDICATE", "box.tasks.@sum.rank", "box.tasks.@avg.ratio", "%@",
        "%K",
        "title.absent", "1970-01-01", "CAST", "now()",
    ]
}
