import SyncStorage

/// How much SQLite may have to compile for a view or a trigger: it copies a view, and each common
/// table expression, wherever it is named, so that a short text can stand for gigabytes.
///
/// An upper bound by the tokens alone, before SQLite reads the text: what is copied has to be
/// named.
struct ExpansionCost {
    /// Views of people's schemas cost some thousand.
    static let costMax = 4_000_000
    private static let textBytesMax = 100_000

    private var views: [String: Int] = [:]

    /// The cost of a text: its bytes, and those of the views that it names, as often as it may name
    /// them.
    /// - Returns: nil: more than ``costMax``.
    func cost(of sql: String) -> Int? {
        guard sql.utf8.count <= Self.textBytesMax else { return nil }
        let tokens = SQLTokens(sql).tokens
        let names = tokens.indices.map { index -> String? in
            // The name of a table before a column is no copy.
            if index + 1 < tokens.count, tokens[index + 1].text == "." { return nil }
            return SQLName.folded(SQLName.unquoted(tokens[index].text))
        }
        var cost = sql.utf8.count
        for case .some(let name) in names {
            if let view = views[name] { cost += view }
            if cost > Self.costMax { return nil }
        }
        for name in Self.commonTables(in: tokens) {
            cost *= max(1, names.count { $0 == name } - 1)
            if cost > Self.costMax { return nil }
        }
        return cost
    }

    /// Adds a view that later texts may name.
    mutating func add(_ name: String, cost: Int) { views[SQLName.folded(name)] = cost }

    /// The names before `AS (`: common table expressions, and windows.
    private static func commonTables(in tokens: [SQLTokens.Token]) -> Set<String> {
        var names: Set<String> = []
        for index in tokens.indices where index > 0 && tokens[index].isWord("AS") {
            let next = tokens[(index + 1)...].first {
                !$0.isWord("NOT") && !$0.isWord("MATERIALIZED")
            }
            guard next?.text == "(" else { continue }
            var place = index - 1
            if tokens[place].text == ")" {
                let depth = tokens[place].depth
                let open = tokens[..<place].lastIndex { $0.text == "(" && $0.depth == depth }
                guard let open, open > 0 else { continue }
                place = open - 1
            }
            names.insert(SQLName.folded(SQLName.unquoted(tokens[place].text)))
        }
        return names
    }
}
