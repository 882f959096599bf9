import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica

@Suite("Columns that seem to be references")
struct UndeclaredReferenceTests {
    @Test(
        "names of columns and tables",
        arguments: [
            ("author", "authors", true), ("author_id", "author", true),
            ("authorId", "Authors", true), ("place_id", "moz_places", true),
            ("category_id", "app_categories", true), ("box", "boxes", true),
            ("id", "ids", false), ("paid", "authors", false), ("count", "counts", true),
            ("author", "coauthors", false), ("price", "author", false),
        ])
    func names(column: String, table: String, isName: Bool) {
        #expect(UndeclaredReference.names(UndeclaredReference.base(of: column), table) == isName)
    }

    @Test("only what can still be declared, and what the values allow")
    func columns() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let writer = try PlainConnection(path, wal: true)
        try writer.run(
            """
            CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT, parent_id INTEGER,
              page INTEGER, author TEXT);
            CREATE TABLE authors(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE pages(id INTEGER PRIMARY KEY);
            CREATE TABLE shelves(id TEXT PRIMARY KEY);
            CREATE TABLE links(id INTEGER PRIMARY KEY, book INTEGER, author INTEGER NOT NULL,
              declared INTEGER REFERENCES books, shelf INTEGER);
            INSERT INTO books VALUES (1, 'a', 0, 77, 'x'), (2, 'b', 1, 78, 'y');
            INSERT INTO authors VALUES (1, 'n'); INSERT INTO pages VALUES (1);
            INSERT INTO links VALUES (1, 1, 1, 1, 1), (2, 2, 1, 1, 2), (3, NULL, 1, NULL, 3);
            """)
        writer.close()
        try Store.track(path)
        func found() throws -> [String] {
            try Store.undeclaredReferences(path).map { "\($0.table).\($0.column) \($0.target)" }
        }
        #expect(
            try found() == ["books.parent_id books", "links.book books", "links.author authors"])
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        try replica.setPolicies(
            MergePolicies(entities: [
                "books": .init(references: ["parent_id": "books"]),
                "links": .init(references: ["book": "books"]), "authors": .init(identity: .key),
            ]))
        #expect(try found().isEmpty)
        try replica.setPolicies(MergePolicies())
        #expect(try found().count == 3)
        _ = try replica.vector
        #expect(try found().isEmpty)
    }

    @Test(
        "a reference that cannot be declared says why",
        arguments: [
            ("bok", "books", "links has no such column"),
            ("book", "boks", "the store tracks no such table"),
            ("book", "pairs", "its key has 2 columns"),
            ("declared", "books", "the column is part of a foreign key already"),
        ])
    func refusals(column: String, target: String, reason: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let writer = try PlainConnection(path, wal: true)
        try writer.run(
            """
            CREATE TABLE books(id INTEGER PRIMARY KEY);
            CREATE TABLE pairs(a INTEGER, b INTEGER, PRIMARY KEY(a, b));
            CREATE TABLE links(id INTEGER PRIMARY KEY, book INTEGER,
              declared INTEGER REFERENCES books);
            """)
        writer.close()
        try Store.track(path)
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        #expect {
            try replica.setPolicies(
                MergePolicies(entities: ["links": .init(references: [column: target])]))
        } throws: { error in
            (error as? SyncError)?.reason == "links.\(column) cannot refer to \(target): \(reason)"
        }
        // Nothing was set.
        _ = try replica.vector
    }
}
