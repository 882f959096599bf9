import SyncCore

/// Finds objects in a database that the tour can change and delete without breaking it.
struct SubjectSearch {
    /// Runs a query with the sqlite3 shell; rows of columns.
    let query: (String) async throws -> [[String]]

    /// - Throws: ``SyncError`` `refused` when no table is suitable.
    func subjects() async throws -> TourSubjects {
        // Tables with a key of one column and a text to change, the largest first.
        let tables = try await query(
            """
            SELECT m.name, k.name, t.name FROM sqlite_schema m
            JOIN pragma_table_info(m.name) k ON k.pk = 1
            JOIN pragma_table_info(m.name) t ON t.pk = 0
              AND (t.type LIKE '%CHAR%' OR t.type LIKE '%TEXT%')
            WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'syncd_%'
              AND m.sql NOT LIKE 'CREATE VIRTUAL%'
              AND (SELECT max(pk) FROM pragma_table_info(m.name)) = 1
            GROUP BY m.name
            """)
        for table in tables where table.count == 3 {
            let unused = try await unusedKeys(of: table[0], key: table[1])
            let first = try await query(
                "SELECT \(identifier(table[1])) FROM \(identifier(table[0])) "
                    + "WHERE typeof(\(identifier(table[1]))) = 'integer' ORDER BY 1 LIMIT 1")
            let keys = ([first.first?.first] + unused).compactMap { $0 }
            var distinct: [String] = []
            for key in keys where !distinct.contains(key) { distinct.append(key) }
            if distinct.count >= 3 {
                return make(for: table[0], key: table[1], text: table[2], keys: distinct)
            }
        }
        throw SyncError(
            .refused, "no table has an integer key, a text column and three rows to use",
            operation: "demo", hint: "Run the tour on its own database: synctool demo")
    }

    /// Keys of rows that no foreign key refers to.
    private func unusedKeys(of table: String, key: String) async throws -> [String] {
        let children = try await query(
            """
            SELECT m.name, f."from" FROM sqlite_schema m
            JOIN pragma_foreign_key_list(m.name) f
            WHERE m.type = 'table' AND f."table" = \(literal(table)) COLLATE NOCASE
            """)
        let free = children.filter { $0.count == 2 }.map { child in
            "NOT EXISTS (SELECT 1 FROM \(identifier(child[0])) AS c "
                + "WHERE c.\(identifier(child[1])) = p.\(identifier(key)))"
        }
        let condition = (["typeof(p.\(identifier(key))) = 'integer'"] + free)
            .joined(separator: " AND ")
        return try await query(
            "SELECT p.\(identifier(key)) FROM \(identifier(table)) AS p "
                + "WHERE \(condition) ORDER BY 1 DESC LIMIT 2"
        ).compactMap(\.first)
    }

    /// - Parameter keys: one to change, then two to delete.
    private func make(
        for table: String, key: String, text: String, keys: [String]
    ) -> TourSubjects {
        func `where`(_ index: Int) -> String { "WHERE \(identifier(key)) = \(keys[index])" }
        func changed(_ words: String) -> String {
            "UPDATE \(identifier(table)) SET \(identifier(text)) = \(literal(words)) \(`where`(0))"
        }
        let held = keys.prefix(2).map { key in
            ObjectName(entity: table, key: ObjectKey(.integer(Int64(key) ?? 0))).path
        }
        return TourSubjects(
            held: held,
            update: changed("Changed elsewhere"),
            delete: "DELETE FROM \(identifier(table)) \(`where`(1))",
            away: [
                changed("While syncd was down"), "DELETE FROM \(identifier(table)) \(`where`(2))",
                changed("And again"),
            ])
    }

    private func identifier(_ name: String) -> String {
        let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        return isPlain
            ? name : "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    private func literal(_ text: String) -> String { Value.text(text).description }
}
