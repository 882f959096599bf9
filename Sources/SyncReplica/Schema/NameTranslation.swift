import SyncMerge
import SyncStorage

/// What another schema calls the tables and columns of a schema: the texts of this one's objects
/// name them so where they are put into the other one.
///
/// Done in the texts, in the places where SQL has a table: nothing of another replica is run. A
/// column is followed in foreign keys and indexes; in views and triggers only tables are.
struct NameTranslation {
    private struct Table {
        let name: String
        /// The names of the columns that are called otherwise, by folded name.
        var columns: [String: String] = [:]
    }

    /// By folded name; those alone of which something has another name.
    private var tables: [String: Table] = [:]

    /// - Complexity: O(bytes of the schemas)
    init(from schema: SchemaContent, to other: SchemaContent) {
        guard schema.names != nil, other.names != nil else { return }
        var names: [String: EntityNames] = [:]
        for object in other.objects where object.kind == .table && object.isTracked {
            let named = other.names(of: object)
            names[SQLName.folded(named.entity)] = named
        }
        for object in schema.objects where object.kind == .table && object.isTracked {
            let own = schema.names(of: object)
            guard let theirs = names[SQLName.folded(own.entity)], let name = theirs.name else {
                continue
            }
            var table = Table(name: name)
            for column in TableText(object.sql)?.columns ?? [] {
                let identity = own.identity(of: column)
                guard let new = theirs.name(of: identity), !SQLName.isSpelled(new, as: column)
                else {
                    continue
                }
                table.columns[SQLName.folded(column)] = new
            }
            if SQLName.isSpelled(name, as: object.name), table.columns.isEmpty { continue }
            tables[SQLName.folded(object.name)] = table
        }
    }

    /// An object with the names of the other schema.
    func translated(_ object: SchemaObject) -> SchemaObject {
        if tables.isEmpty { return object }
        var edit = Edit(object.sql)
        switch object.kind {
        case .table: translateReferences(&edit)
        case .index: translateIndex(&edit)
        case .view, .trigger: translateSources(&edit)
        case .virtualTable: return object
        }
        var object = object
        object.sql = edit.text
        if object.kind == .index || object.kind == .trigger {
            object.table = tables[SQLName.folded(object.table)]?.name ?? object.table
        }
        return object
    }

    /// A text of which some tokens get another text.
    private struct Edit {
        private let source: SQLTokens
        private var changes: [(place: Int, text: String)] = []

        init(_ sql: String) { source = SQLTokens(sql) }

        var tokens: [SQLTokens.Token] { source.tokens }

        /// The folded name that a token is; nil for a text in single quotes, and after the end.
        func name(at place: Int) -> String? {
            guard tokens.indices.contains(place), !tokens[place].text.hasPrefix("'") else {
                return nil
            }
            return SQLName.folded(SQLName.unquoted(tokens[place].text))
        }

        mutating func set(_ name: String?, at place: Int) {
            if let name { changes.append((place, SQLName.quoted(name))) }
        }

        var text: String {
            var bytes = source.bytes
            for change in changes.sorted(by: { $0.place > $1.place }) {
                bytes.replaceSubrange(tokens[change.place].range, with: Array(change.text.utf8))
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private func table(at place: Int, in edit: Edit) -> Table? {
        edit.name(at: place).flatMap { tables[$0] }
    }

    private func translateReferences(_ edit: inout Edit) {
        for place in edit.tokens.indices where edit.tokens[place].isWord("REFERENCES") {
            guard let table = table(at: place + 1, in: edit) else { continue }
            edit.set(table.name, at: place + 1)
            guard edit.name(at: place + 2) == "(" else { continue }
            var column = place + 3
            while let name = edit.name(at: column), name != ")" {
                edit.set(table.columns[name], at: column)
                column += 1
            }
        }
    }

    private func translateIndex(_ edit: inout Edit) {
        guard let on = edit.tokens.firstIndex(where: { $0.isWord("ON") && $0.depth == 0 }),
            let table = table(at: on + 1, in: edit)
        else { return }
        edit.set(table.name, at: on + 1)
        for place in edit.tokens.indices.dropFirst(on + 2) {
            guard let name = edit.name(at: place) else { continue }
            edit.set(table.columns[name], at: place)
        }
    }

    private static let beforeTables = ["FROM", "JOIN", "INTO", "UPDATE", "ON"]

    private func translateSources(_ edit: inout Edit) {
        for place in edit.tokens.indices.dropFirst() {
            guard let table = table(at: place, in: edit) else { continue }
            let isSource = Self.beforeTables.contains { edit.tokens[place - 1].isWord($0) }
            if isSource || edit.name(at: place + 1) == "." { edit.set(table.name, at: place) }
        }
    }
}

extension SchemaContent {
    /// This schema, put together of two, with its own names for tables and columns in the texts
    /// that it has of one of them alone.
    /// - Complexity: O(bytes of the schemas)
    func translated(from first: SchemaContent, _ second: SchemaContent) -> SchemaContent {
        let sources = [first, second].map {
            (objects: Set($0.objects), names: NameTranslation(from: $0, to: self))
        }
        var translated = self
        for (place, object) in objects.enumerated() {
            let having = sources.filter { $0.objects.contains(object) }
            if having.count == 1 { translated.objects[place] = having[0].names.translated(object) }
        }
        return translated
    }
}
