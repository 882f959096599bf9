import Crypto
import SyncMerge
import SyncStorage
import SyncValues

/// The schema by which the tables show the facts.
///
/// Under another one all rows are shown again, in memory, unless none can be shown otherwise. That
/// is so where
/// - each object is shown as it was recorded, alone, or deleted: what constraints ask of the rows,
///   SQLite has looked at when they were made;
/// - each table of before is there, and refers to what it referred to, and each column has the
///   default that it had: ``essentials``;
/// - and no policy makes one value of several, or numbers shared: whether it does depends on the
///   constraints.
///
/// A new column, table or index that is no key and ties no columns to each other changes nothing
/// then, in a store of any size.
struct ShownStructure {
    private let storage: ReplicaStorage
    private let settings: Metadata
    /// Of the statements with identities in place of names: a rename repairs and shows nothing.
    private let hash: String
    /// Of the statements as they are, which earlier versions stored.
    private let plainHash: String
    /// A hash for each table and each default.
    private let essentials: [String]

    init(_ storage: ReplicaStorage) {
        self.storage = storage
        settings = storage.history.settings
        let names = storage.schema.names
        hash = Self.hash(storage.structure.map { Self.identified($0, by: names) })
        plainHash = Self.hash(storage.structure)
        essentials = Self.essentials(of: storage.schema.merge)
    }

    private static func hash(_ statements: [String], bytes: Int = 16) -> String {
        SHA256.hash(data: Array(statements.joined(separator: "\u{0}").utf8)).prefix(bytes)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// A statement with the identities of its table and columns, and of the tables that it names.
    private static func identified(_ sql: String, by names: SchemaNames) -> String {
        var table: String?
        let words = SQLTokens(sql).tokens.map { token -> String in
            if token.text.hasPrefix("'") { return token.text }
            let word = SQLName.unquoted(token.text)
            if let table {
                let column = names.identity(ofColumn: word, table: table)
                if column != word { return SQLName.folded(column) }
            }
            if table == nil, names.hasTable(word) { table = word }
            return SQLName.folded(names.identity(ofTable: word))
        }
        return words.joined(separator: " ")
    }

    /// What of the schema decides how rows are shown that no constraint refuses.
    private static func essentials(of schema: MergeSchema) -> [String] {
        schema.entities.flatMap { entity in
            func names(_ columns: [Int]) -> String {
                columns.map { SQLName.folded(entity.columns[$0].name) }.joined(separator: ",")
            }
            let references = entity.references.map { reference in
                let target = SQLName.folded(schema.entities[reference.target].name)
                return "\(names(reference.columns)) \(target) \(reference.onDelete) "
                    + "\(reference.isExact)"
            }
            let table = [
                "table", SQLName.folded(entity.name), "\(entity.identity)", names(entity.key),
                "\(entity.key.map { entity.columns[$0].collation })",
                "\(entity.hasSpelledReferences)",
            ]
            let tied = entity.cells.filter { $0.count > 1 }.map(names).sorted()
            let defaults = entity.columns.filter { $0.defaultValue != .null }.map { column in
                [
                    "default", SQLName.folded(entity.name), SQLName.folded(column.name),
                    "\(column.defaultValue)",
                ]
            }
            return ([table + references.sorted() + ["tied"] + tied] + defaults)
                .map { hash($0, bytes: 8) }
        }.sorted()
    }

    private var text: String { ([hash] + essentials).joined(separator: " ") }

    /// Whether the tables were last shown by another schema, under which a row may be shown
    /// otherwise. A store that does not know is taken for shown by this one.
    /// - Throws: SQLite errors.
    func isNew() throws -> Bool {
        guard case .text(let stored) = try settings.value(.shown) else { return false }
        let words = stored.split(separator: " ").map(String.init)
        guard let former = words.first, former != hash, former != plainHash else { return false }
        // An earlier version stored the first word alone.
        guard words.count > 1, Set(words.dropFirst()).isSubset(of: essentials),
            storage.policies == MergePolicies()
        else { return true }
        return try !storage.objects.unresolved().isEmpty || storage.objects.hasAliases()
    }

    /// The tables show the facts by this schema now.
    /// - Throws: SQLite errors.
    func store() throws {
        if try settings.value(.shown) != .text(text) { try settings.set(.shown, to: .text(text)) }
    }
}
