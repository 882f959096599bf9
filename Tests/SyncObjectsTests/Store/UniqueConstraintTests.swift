import GRDB
import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

/// The violated constraint is found from the schema.
@Suite struct UniqueConstraintTests {
    private let queue: DatabaseQueue
    private let table = TableLayout(
        name: "T", key: [.init("id", isRowID: true)], kindColumn: nil, columns: [],
        isManaged: true)

    init() throws {
        queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(
                sql: """
                    CREATE TABLE T(id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE,
                    a INTEGER, b INTEGER, UNIQUE(a, b));
                    CREATE UNIQUE INDEX T_expression ON T(a + b);
                    INSERT INTO T VALUES (1, 'x', 1, 2);
                    """)
        }
    }

    private func violated(
        _ row: [String: Value], own: ManagedObjectKey? = nil
    ) throws -> [String] {
        try queue.read { db in
            try UniqueConstraints(of: table, in: db).violated(by: { row[$0] }, own: own)
        }
    }

    @Test func theColumnsOfTheConstraintAreNamed() throws {
        #expect(try violated(["id": .integer(1), "code": .text("y")]) == ["id"])
        #expect(try violated(["id": .integer(2), "code": .text("X")]) == ["code"])
        let pair: [String: Value] = ["code": .text("y"), "a": .integer(1), "b": .integer(2)]
        #expect(try violated(pair) == ["a", "b"])
    }

    @Test func nullAndTheRowItselfViolateNothing() throws {
        #expect(try violated(["code": .null, "a": .integer(1), "b": .null]) == [])
        #expect(try violated(["code": .text("x")], own: .integer(1)) == [])
    }

    @Test func aConstraintWithoutColumnsIsNotNamed() throws {
        #expect(try violated(["a": .integer(2), "b": .integer(1)]) == [])
    }

    @Test func aConflictOnAnExpressionIsReportedWithoutColumns() throws {
        let folder = try TemporaryFolder()
        let container = try folder.container()
        let other = try DatabaseQueue(path: folder.file("store.sqlite").path)
        try other.write {
            try $0.execute(sql: "CREATE UNIQUE INDEX lower_title ON C_Task(lower(title))")
        }
        let context = try container.newBackgroundContext()
        for title in ["a", "A"] { try TodoTask(context: context).title = title }
        let error = #expect(throws: ObjectError.self) { try context.save() }
        #expect(error?.code == .constraintConflict)
        #expect(error?.property == nil)
        context.mergePolicy = .overwrite
        #expect(throws: ObjectError.self) { try context.save() }
    }
}
