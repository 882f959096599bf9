import SyncMerge

/// A UNIQUE index of simulated schemas that is no UNIQUE of columns: over lower-case text, over the
/// rows that have one value in a column, or both.
package struct SimulatedIndex: Sendable {
    /// The columns whose values are unique together.
    package let terms: [Int]
    /// Those that are compared in lower case.
    package let lower: Set<Int>
    /// Only rows that have this value in this column are in the index.
    package let flag: (column: Int, value: Int64)?
    /// What the names of the computed columns begin with that hold the terms in lower case, each
    /// followed by the number of its column; nil: the index has expressions.
    package var computed: String?

    /// Describes an index.
    package init(terms: [Int], lower: Set<Int>, flag: (column: Int, value: Int64)?) {
        self.terms = terms
        self.lower = lower
        self.flag = flag
    }

    /// The index as merging sees it.
    package var claim: MergeEntity.Claim {
        let columns = Set(terms + (flag.map { [$0.column] } ?? [])).sorted()
        let (terms, lower, flag) = (terms, lower, flag)
        return MergeEntity.Claim(
            columns, changeable: terms,
            flags: flag.map { terms.contains($0.column) ? [] : [$0.column] } ?? [],
            collations: terms.map { _ in .binary }
        ) { fields in
            var shown: [Int: Field] = [:]
            for (column, field) in zip(columns, fields) { shown[column] = field }
            if let flag, shown[flag.column] != .value(.integer(flag.value)) { return nil }
            return terms.map { column in
                let field = shown[column] ?? .value(.null)
                guard lower.contains(column), case .value(.text(let text)) = field else {
                    return field
                }
                return .value(.text(Collation.lowercased(text)))
            }
        }
    }

    /// The CREATE statement.
    /// - Parameter names: of the table's columns.
    func sql(_ name: String, on table: String, columns names: [String]) -> String {
        let terms = terms.map { term in
            guard lower.contains(term) else { return names[term] }
            return computed.map { "\($0)\(term)" } ?? "lower(\(names[term]))"
        }
        return "CREATE UNIQUE INDEX \(name) ON \(table)(\(terms.joined(separator: ",")))"
            + (flag.map { " WHERE \(names[$0.column])=\($0.value)" } ?? "")
    }
}
