import SyncValues

extension MergeEntity {
    /// A UNIQUE: what a row claims for itself alone, as a function of some of its columns.
    ///
    /// A UNIQUE of columns claims their values. An index over expressions or generated columns, or
    /// over a part of the rows, claims what SQLite would compute; a row outside of the index
    /// claims nothing, and neither does NULL.
    package struct Claim: Sendable {
        /// The columns that the claim depends on, ascending but for those of a plain UNIQUE; they
        /// are versioned together.
        package let columns: [Int]
        /// The columns whose values are claimed; those of a condition are not among them.
        let changeable: [Int]
        /// The columns that expressions or a condition name: of the others the values are claimed.
        let computed: [Int]
        /// The columns of a condition, with the values that may take a row out of the index.
        let flags: [Int]
        private let collations: [Collation]
        private let compute: (@Sendable ([Field]) -> [Field]?)?

        /// A UNIQUE of columns.
        package init(_ columns: [Int], collations: [Collation]) {
            self.columns = columns
            changeable = columns
            computed = []
            flags = []
            self.collations = collations
            compute = nil
        }

        /// A UNIQUE of what is computed.
        /// - Parameters:
        ///   - columns: all that it depends on.
        ///   - changeable: those whose values are claimed.
        ///   - flags: those of its condition.
        ///   - computed: those that an expression or the condition names; nil: any.
        ///   - collations: how UNIQUE compares each claimed value.
        ///   - compute: the claimed values by the values of `columns`; nil for a row that is not
        ///     in the index. A reference among these denotes a private number: it may be compared
        ///     with another reference and with NULL, and with nothing else.
        package init(
            _ columns: [Int], changeable: [Int], flags: [Int], computed: [Int]? = nil,
            collations: [Collation], compute: @escaping @Sendable ([Field]) -> [Field]?
        ) {
            self.columns = columns
            self.changeable = changeable
            self.flags = flags
            self.computed = computed ?? columns
            self.collations = collations
            self.compute = compute
        }

        /// Whether any change of a column in ``changeable`` changes what is claimed.
        var isPlain: Bool { compute == nil }

        /// The values that a row claims, as it spells them; nil when it claims nothing.
        package func values(of field: (Int) -> Field) -> [Field]? {
            var values = columns.map(field)
            if let compute {
                guard let computed = compute(values) else { return nil }
                values = computed
            }
            return values.contains(where: \.isNull) ? nil : values
        }

        /// One form for all values that UNIQUE calls equal.
        package func folded(_ values: [Field]) -> [Field] {
            zip(values, collations).map { field, collation in
                switch field {
                case .value(let value): return .value(collation.folded(value))
                case .reference(let uid, _): return .reference(uid, part: 0)
                case .unstated: return field
                }
            }
        }
    }

    /// How the row with the later claim of a UNIQUE value is shown beside the row with the earlier
    /// one. Only columns that no reference, key or CHECK of several columns names can be changed.
    package enum LoserRename: Sendable, Hashable {
        /// The column is shown as NULL.
        case null(Int)
        /// The column is shown with a suffix.
        case name(Int)
        /// The column of an index' condition is shown as its default.
        case reset(Int, Value)

        /// The column that is changed.
        package var column: Int {
            switch self {
            case .null(let column), .name(let column), .reset(let column, _): return column
            }
        }

        /// Whether it takes the row out of an index, and leaves the claimed values.
        var isReset: Bool {
            if case .reset = self { return true }
            return false
        }

        /// The value that is shown in place of another one.
        func value(for value: Value, suffix: String) -> Value {
            switch self {
            case .null: return .null
            case .name: return value.appending(suffix)
            case .reset(_, let initial): return initial
            }
        }
    }

    /// How the later row of a clash of a claim can be shown, by preference; with a suffix, which is
    /// a value that nobody wrote, under `keepBoth` alone.
    static func renames(
        for claim: Claim, columns: [Column], key: [Int], references: [Reference], checks: [Check],
        policy: UniquePolicy
    ) -> [LoserRename] {
        let bound = Set(references.flatMap(\.columns) + key)
        let tied = bound.union(checks.flatMap(\.columns))
        let free = claim.changeable.filter { !tied.contains($0) }
        let null = free.first { !columns[$0].isRequired }.map(LoserRename.null)
        let name = free.first { columns[$0].isRenameable }.map(LoserRename.name)
        let resets = claim.flags.compactMap { column -> LoserRename? in
            let initial = columns[column].defaultValue
            guard !bound.contains(column), !(columns[column].isRequired && initial == .null),
                checks.allSatisfy({ check in
                    !check.columns.contains(column)
                        || check.columns == [column] && check.accepts([.value(initial)])
                })
            else { return nil }
            return .reset(column, initial)
        }
        let values = (policy == .keepBoth ? [name, null] : [null]).compactMap { $0 }
        return resets + values
    }
}

extension Value {
    /// The value with text at its end.
    fileprivate func appending(_ suffix: String) -> Value {
        switch self {
        case .null: return self
        case .integer(let number): return .text(String(number) + suffix)
        case .real(let number): return .text(String(number) + suffix)
        case .text(let text): return .text(text + suffix)
        case .blob(let bytes): return .blob(bytes + Array(suffix.utf8))
        }
    }
}
