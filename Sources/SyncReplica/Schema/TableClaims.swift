import SyncMerge
import SyncStorage
import SyncValues

/// The UNIQUE constraints and indexes of a table, but for the key's own, as claims.
///
/// An index that names a private number in an expression or condition is left out: the number is
/// another one on each replica. Where rows clash in it, SQLite refuses the merge.
struct TableClaims {
    /// A claim, and how SQL finds the rows that make it.
    struct Item {
        let claim: MergeEntity.Claim
        /// A condition with one parameter for each claimed value.
        let condition: String
    }

    /// The claims, in the order of the indexes.
    private(set) var items: [Item] = []
    /// Whether an index is left out.
    private(set) var isIncomplete = false

    private let table: TableSchema
    private let uses: ColumnUse
    private let rules: RuleDatabase

    /// - Parameter number: the column of a private number; nil: the table has none.
    init(_ table: TableSchema, uses: ColumnUse, rules: RuleDatabase, privateNumber number: Int?) {
        self.table = table
        self.uses = uses
        self.rules = rules
        for index in table.alternateKeys {
            // A number that is unique by itself: the index adds nothing.
            if index.terms.contains(where: { $0.column.flatMap { uses[$0] } == number })
                && number != nil
            {
                continue
            }
            let item = item(for: index)
            if let number, item.claim.columns.contains(number) {
                isIncomplete = true
            } else {
                items.append(item)
            }
        }
    }

    private func item(for index: UniqueIndex) -> Item {
        let collations = index.terms.map { Collation($0.collation) ?? .binary }
        let terms = index.terms.map { term in
            term.column.map(SQLName.quoted) ?? "(\(term.expression ?? "NULL"))"
        }
        var conditions = zip(index.terms, terms).map { term, sql in
            sql + (compares(term) ? "" : " COLLATE " + SQLName.quoted(term.collation)) + " IS ?"
        }
        if let condition = index.condition { conditions.append("(\(condition))") }
        return Item(
            claim: claim(of: index, terms: terms, collations: collations),
            condition: conditions.joined(separator: " AND "))
    }

    /// Whether the term's column compares as the index does.
    private func compares(_ term: UniqueIndex.Term) -> Bool {
        guard let column = term.column.flatMap(table.column) else { return false }
        return SQLName.isEqual(column.collation, to: term.collation)
    }

    private func claim(
        of index: UniqueIndex, terms: [String], collations: [Collation]
    ) -> MergeEntity.Claim {
        let places = index.terms.map { term in term.column.flatMap { uses[$0] } }
        let plain = places.compactMap { $0 }
        if plain.count == places.count, index.condition == nil {
            return MergeEntity.Claim(plain, collations: collations)
        }
        let named = index.terms.flatMap { term in
            uses.columns(namedIn: term.expression ?? term.column.map(SQLName.quoted) ?? "")
        }
        let flags = index.condition.map { uses.columns(namedIn: $0) } ?? []
        let computed =
            flags
            + zip(index.terms, places).filter { $0.1 == nil }.flatMap { term, _ in
                uses.columns(namedIn: term.expression ?? term.column.map(SQLName.quoted) ?? "")
            }
        let columns = Set(named + flags).sorted()
        let names = columns.map { table.storedColumns[$0].name }
        let sql = RuleDatabase.Terms(
            table: table.name, columns: names, terms: terms, condition: index.condition)
        let rules = rules
        return MergeEntity.Claim(
            columns, changeable: Set(named).sorted(),
            flags: flags.filter { !named.contains($0) }, computed: computed,
            collations: collations
        ) { fields in
            var shown: [Int: Field] = [:]
            for (column, field) in zip(columns, fields) { shown[column] = field }
            if plain.contains(where: { shown[$0]?.isNull ?? true }) { return nil }
            return rules.values(of: sql, fields.map(\.placeholder)).map { values in
                zip(places, values).map { place, value in
                    place.flatMap { shown[$0] } ?? .value(value)
                }
            }
        }
    }
}

extension Field {
    /// What expressions see of a field. A private number is replaced by the same number wherever it
    /// is in a row, and by different numbers for different objects.
    var placeholder: Value {
        switch self {
        case .value(let value): return value
        case .reference(let uid, _): return .integer(Int64(uid.low >> 1))
        case .unstated: return .null
        }
    }
}
