import SyncValues

/// The key of a row in the tables.
///
/// Two keys are equal when SQLite calls them equal: by the collation of each column, and numbers by
/// their value. ``values`` keep the spelling of the row.
package struct RowKey: Sendable, Hashable {
    /// Position of the entity in the schema.
    package let entity: Int
    /// The key, in key order, as it is spelled.
    package let values: [Value]
    /// One form for all spellings; nil: ``values`` have it.
    private let folded: [Value]?
    /// The key of one column that is a whole number, which most are: compared without its array.
    private let number: Int64?

    /// Makes a key whose values have one spelling: a private number, or text that only bytes
    /// compare.
    package init(entity: Int, _ values: [Value]) {
        self.entity = entity
        self.values = values
        folded = nil
        number = Self.number(values)
    }

    fileprivate init(entity: Int, _ values: [Value], folded: [Value]?) {
        self.entity = entity
        self.values = values
        self.folded = folded
        number = Self.number(folded ?? values)
    }

    private static func number(_ form: [Value]) -> Int64? {
        guard form.count == 1, case .integer(let number) = form[0] else { return nil }
        return number
    }

    package static func == (left: RowKey, right: RowKey) -> Bool {
        guard left.entity == right.entity, left.number == right.number else { return false }
        return left.number != nil
            || (left.folded ?? left.values) == (right.folded ?? right.values)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(entity)
        if let number { hasher.combine(number) } else { hasher.combine(folded ?? values) }
    }
}

extension MergeSchema {
    /// The key of a row of an entity, also of one that a reference names.
    /// - Parameter values: one for each column of the entity's key, as they are spelled; those of a
    ///   reference may be the text of the number that they name.
    /// - Complexity: O(length of the values)
    package func key(_ entity: Int, _ values: [Value]) -> RowKey {
        // A number has one spelling.
        if values.count == 1, case .integer = values[0] { return RowKey(entity: entity, values) }
        let description = entities[entity]
        if description.isPrivate { return RowKey(entity: entity, Self.numbers(values)) }
        var folded = values
        var isFolded = false
        for (position, column) in description.key.enumerated() where position < values.count {
            let form = description.columns[column].collation.folded(values[position])
            if form == values[position] { continue }
            folded[position] = form
            isFolded = true
        }
        return RowKey(entity: entity, values, folded: isFolded ? folded : nil)
    }

    /// The number that a reference to an INTEGER PRIMARY KEY names, where a column holds it as
    /// text: SQLite compares `'7'` with the key as 7. Text in another form than the number's own
    /// (`'07'`) stays what it is: a UNIQUE tells the two apart.
    private static func numbers(_ values: [Value]) -> [Value] {
        guard case .text(let text)? = values.first, let number = Int64(text),
            String(number) == text
        else { return values }
        return [.integer(number)]
    }
}
