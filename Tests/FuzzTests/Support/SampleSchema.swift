/// Tables with everything that merging treats in its own way: private numbers, references, natural
/// keys, unique columns, blending.
enum SampleSchema {
    static let sql = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT, num INTEGER, body TEXT);
        CREATE TABLE tag(name TEXT PRIMARY KEY, num INTEGER) WITHOUT ROWID;
        CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT UNIQUE,
          note INTEGER REFERENCES note(id) ON DELETE CASCADE, tag TEXT REFERENCES tag(name),
          num INTEGER NOT NULL DEFAULT 0);
        INSERT INTO note VALUES (1, 'one', 1, '[1,2]'), (2, 'two', 2, '[]');
        INSERT INTO tag VALUES ('red', 1), ('blue', 2);
        INSERT INTO item VALUES (1, 'a', 1, 'red', 1), (2, 'b', 2, NULL, 2), (3, 'c', NULL, 'blue', 3)
        """
}
