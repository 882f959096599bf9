import SyncStorage

/// Compares a table of the store's schema with the one of its name here.
struct TableComparing {
    typealias Difference = SchemaComparison.Difference

    let theirs: TableSchema
    let ours: TableSchema

    /// The columns that are not here, in order.
    var newColumns: [ColumnSchema] {
        theirs.columns.filter { ours.column($0.name) == nil && $0.storage != .hidden }
    }

    /// The columns that are here alone.
    var columnsOnlyHere: [String] {
        ours.columns.filter { theirs.column($0.name) == nil }.map { "\(ours.name).\($0.name)" }
    }

    /// What ALTER TABLE cannot bring about.
    /// - Parameter added: the columns that are going to be added.
    func differences(adding added: Set<String>) -> [Difference] {
        var reasons: [(String, String)] = []
        for column in theirs.columns {
            guard let own = ours.column(column.name) else { continue }
            let name = "\(ours.name).\(column.name)"
            let facts: [(String, String, String)] = [
                ("type", own.declaredType, column.declaredType),
                ("collation", own.collation, column.collation),
                ("default", own.defaultSQL ?? "none", column.defaultSQL ?? "none"),
                ("NOT NULL", "\(own.isNotNull)", "\(column.isNotNull)"),
                ("generated", own.generatedSQL ?? "no", column.generatedSQL ?? "no"),
            ]
            for (what, here, there) in facts where Self.normal(here) != Self.normal(there) {
                reasons.append((name, "the \(what) is \(here) here, \(there) there"))
            }
        }
        if names(ours.key) != names(theirs.key) || ours.isIntegerKey != theirs.isIntegerKey {
            reasons.append((ours.name, "the primary key differs"))
        }
        if ours.isStrict != theirs.isStrict || ours.isWithoutRowID != theirs.isWithoutRowID {
            reasons.append((ours.name, "STRICT or WITHOUT ROWID differs"))
        }
        for (what, here, there) in [
            ("UNIQUE", Self.uniques(ours), Self.uniques(theirs)),
            ("CHECK", Set(ours.checks.map(Self.normal)), Set(theirs.checks.map(Self.normal))),
            ("foreign key", Self.references(ours), Self.references(theirs)),
        ] {
            // What an added column brings itself is there after it.
            let missing = there.subtracting(here).filter { text in
                !added.contains { SQLName.folded(text).contains(SQLName.folded($0)) }
            }
            for text in missing.sorted() {
                reasons.append((ours.name, "it has no \(what) \(text), which is there"))
            }
            for text in here.subtracting(there).sorted() {
                reasons.append((ours.name, "its \(what) \(text) is not there"))
            }
        }
        return reasons.map { name, reason in
            Difference(
                name: name, reason: reason,
                remedy: "rebuild the table with the definition of the store, in one transaction")
        }
    }

    private func names(_ columns: [String]) -> [String] { columns.map(SQLName.folded) }

    /// An expression without what SQLite does not distinguish: ALTER TABLE … RENAME quotes names.
    static func normal(_ sql: String) -> String {
        SQLTokens(sql).tokens.map { token in
            token.text.first == "'" ? token.text : SQLName.folded(SQLName.unquoted(token.text))
        }.joined(separator: " ")
    }

    private static func uniques(_ table: TableSchema) -> Set<String> {
        Set(
            table.uniqueIndexes.filter { $0.origin == .constraint }.map { index in
                let terms = index.terms.map { "\($0.column ?? "") \($0.collation)" }
                return "(" + terms.map(SQLName.folded).joined(separator: ", ") + ")"
            })
    }

    private static func references(_ table: TableSchema) -> Set<String> {
        Set(
            table.foreignKeys.map { key in
                let text =
                    "(\(key.columns.joined(separator: ", "))) to \(key.parent)"
                    + "(\(key.parentColumns.joined(separator: ", "))) \(key.onDelete.rawValue) "
                    + key.onUpdate.rawValue
                return SQLName.folded(text)
            })
    }
}
