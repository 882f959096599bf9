/// What merging needs to know about a tracked table. Columns are named by their position.
///
/// Immutable; the cells follow from the constraints and are the same on every replica that has the
/// same schema.
package struct MergeEntity: Sendable {
    /// What makes two rows the same object.
    package enum Identity: Sendable, Hashable {
        /// The INTEGER PRIMARY KEY is a private number of each replica; equal numbers never denote
        /// the same object.
        case privateNumber
        /// The INTEGER PRIMARY KEY is a number that the object claims: the same on every replica.
        /// Equal numbers never denote the same object; the earliest claim keeps the number.
        case sharedNumber
        /// The key's values.
        case key
    }

    /// The table's name.
    package let name: String
    /// All non-generated columns.
    package let columns: [Column]
    /// The columns of the primary key, in key order.
    package let key: [Int]
    /// What makes two rows the same object.
    package let identity: Identity
    /// Foreign keys.
    package internal(set) var references: [Reference]
    /// The columns of references that a CHECK may call different where the target's key does not.
    var spelledReferences: [SpelledReference] = []
    /// The columns of references whose values are numbers of rows, which facts do not have, and
    /// that a claim depends on: ascending.
    package internal(set) var numberColumns: [Int] = []
    /// CHECK constraints.
    package let checks: [Check]
    /// Which side of an edit concurrent with a delete is shown.
    package let deletePolicy: DeletePolicy
    /// What two objects that claim one UNIQUE value become.
    package let uniquePolicy: UniquePolicy
    /// What belongs to one row alone: UNIQUE constraints and indexes, then the key if it
    /// identifies.
    package let claims: [Claim]
    /// The columns that are versioned together, in the order of their first column.
    package let cells: [[Int]]
    /// How the concurrent versions of each cell merge.
    package let policies: [CellPolicy]
    /// The cell of each column; nil for a private number.
    package let cellOfColumn: [Int?]
    /// The cell of a shared number: a column alone, whose versions are ``NumberClaim``s.
    package let numberCell: Int?
    /// The columns with a NOT NULL or a type: neither in the key nor in references, whose values
    /// other rules decide.
    private let bounded: [Int]
    /// The columns that are in no foreign key, and for which NULL may be refused. Where another
    /// replica has a foreign key, they hold a reference that may lead to nothing here.
    package let requiredOutsideReferences: [Int]
    /// For each claim, how the later of two rows is shown, by preference; none: it cannot be
    /// changed, the rows become one.
    package let loserRenames: [[LoserRename]]

    /// Describes a table.
    /// - Parameters:
    ///   - uniques: the columns of each UNIQUE constraint but the key's own.
    ///   - claims: the UNIQUE constraints and indexes that `uniques` does not describe.
    ///   - isWhole: the whole row is one cell.
    ///   - columnPolicies: by column; the others go by `policy`. Columns of one cell must agree;
    ///     one that blends must be a cell of its own.
    package init(
        name: String, columns: [Column], key: [Int], identity: Identity, uniques: [[Int]] = [],
        claims: [Claim] = [], references: [Reference] = [], checks: [Check] = [],
        deletePolicy: DeletePolicy = .deleteWins, uniquePolicy: UniquePolicy = .merge,
        isWhole: Bool = false, policy: CellPolicy = .lastWriter,
        columnPolicies: [Int: CellPolicy] = [:]
    ) {
        precondition(!key.isEmpty, "a tracked table has a key")
        precondition(
            identity == .key || key.count == 1, "a number is a single INTEGER column")
        self.name = name
        self.columns = columns
        self.key = key
        self.identity = identity
        self.references = references
        self.checks = checks
        self.deletePolicy = deletePolicy
        self.uniquePolicy = uniquePolicy
        let referring = Set(references.flatMap(\.columns) + key)
        bounded = columns.indices.filter { column in
            !referring.contains(column)
                && (columns[column].isRequired || columns[column].type != nil)
        }
        let declared = Set(references.flatMap(\.columns))
        let needed = Set(key + checks.flatMap(\.columns))
        requiredOutsideReferences = columns.indices.filter { column in
            !declared.contains(column)
                && (columns[column].isRequired || needed.contains(column))
        }
        let plain = (uniques + (identity == .key ? [key] : [])).map { members in
            Claim(members, collations: members.map { columns[$0].collation })
        }
        let claims = claims + plain
        self.claims = claims
        let free = columns.indices.filter { identity == .key || !key.contains($0) }
        let tied = Coupling.cells(
            of: free,
            ties: references.map(\.columns) + checks.map(\.columns) + claims.map(\.columns)
                + (isWhole ? [free] : []))
        let plainPolicies = tied.map { cell in
            cell.lazy.compactMap { columnPolicies[$0] }.first ?? policy
        }
        // Whatever constraint names the number: a claim is nothing that a writer mixes with others.
        numberCell = identity == .sharedNumber ? tied.count : nil
        cells = tied + (identity == .sharedNumber ? [key] : [])
        policies = plainPolicies + (identity == .sharedNumber ? [.firstWriter] : [])
        var cellOfColumn = [Int?](repeating: nil, count: columns.count)
        for (cell, members) in cells.enumerated() {
            for column in members { cellOfColumn[column] = cell }
        }
        self.cellOfColumn = cellOfColumn
        loserRenames = claims.map { claim in
            Self.renames(
                for: claim, columns: columns, key: key, references: references, checks: checks,
                policy: uniquePolicy)
        }
    }

    /// Whether the key is a number that does not identify: a private one, or a shared one.
    package var isPrivate: Bool { identity != .key }

    /// Whether the key is a number of each replica alone.
    package var hasPrivateNumbers: Bool { identity == .privateNumber }

    /// Whether the key is a number that is the same on every replica.
    package var sharesNumbers: Bool { identity == .sharedNumber }

    /// Whether every one of the columns may be NULL.
    func isNullable(_ columns: [Int]) -> Bool {
        columns.allSatisfy { !self.columns[$0].isRequired && !key.contains($0) }
    }

    /// A constraint that refuses a row.
    package enum Refusal: Sendable {
        /// The NOT NULL or the type of a column.
        case column(Int)
        /// A CHECK, by its position.
        case check(Int)
    }

    /// The first CHECK, NOT NULL or type of a STRICT table that refuses the row: a replica whose
    /// schema allows more has written it.
    package func refusal(of row: [Field]) -> Refusal? {
        let unfit = bounded.first { column in
            guard case .value(let value) = row[column] else { return false }
            if value == .null { return columns[column].isRequired }
            return !(columns[column].type?.accepts(value) ?? true)
        }
        if let unfit { return .column(unfit) }
        return checks.firstIndex { !$0.accepts($0.columns.map { row[$0] }) }.map(Refusal.check)
    }

    /// Whether a CHECK, a NOT NULL or a type refuses the row.
    package func refuses(_ row: [Field]) -> Bool { refusal(of: row) != nil }

    /// Whether a CHECK that names one of the columns refuses the row.
    func checks(naming columns: [Int], refuse row: [Field]) -> Bool {
        checks.contains { check in
            check.columns.contains(where: columns.contains)
                && !check.accepts(check.columns.map { row[$0] })
        }
    }

    /// Whether there is anything that could refuse a row.
    package var mayRefuse: Bool { !bounded.isEmpty || !checks.isEmpty }
}
