import SyncValues

/// References to keys that may be spelled in several ways, under a CHECK that tells these apart.
///
/// How a row spells a reference is no fact: a fact names the target. So a view cannot know what the
/// writer's CHECK accepted. It tries the spelling of the key, and then the two that CHECKs demand:
/// `CHECK (email = lower(email))` accepts `a@x.org`, where the key is `A@x.org`.
extension MergeEntity {
    /// A column of a reference that a CHECK names, and how the key that it refers to compares text.
    struct SpelledReference: Sendable {
        let column: Int
        let collation: Collation
    }

    /// Whether there are references whose spelling a CHECK may see.
    package var hasSpelledReferences: Bool { !spelledReferences.isEmpty }

    /// The row with its references spelled so that its constraints accept it: as the keys are, else
    /// all in lower case (without spaces at the end), else all in upper case.
    /// - Parameters:
    ///   - visible: the row, with its references spelled as the keys are.
    ///   - isReference: whether a column holds a reference, and not a value in its place.
    /// - Returns: nil where they refuse each of these rows.
    package func accepted(
        _ visible: [Field], isReference: (_ column: Int) -> Bool
    ) -> [Field]? {
        if !refuses(visible) { return visible }
        for isUpper in spelledReferences.isEmpty ? [] : [false, true] {
            var row = visible
            for reference in spelledReferences where isReference(reference.column) {
                guard case .value(let value) = row[reference.column] else { continue }
                row[reference.column] = .value(
                    reference.collation.respelled(value, isUpper: isUpper))
            }
            if row != visible, !refuses(row) { return row }
        }
        return nil
    }

    /// The columns of references that a CHECK names and that the target's key compares by NOCASE or
    /// RTRIM.
    func checkedReferences(in entities: [MergeEntity]) -> [SpelledReference] {
        let checked = Set(checks.flatMap(\.columns))
        var found: [SpelledReference] = []
        for reference in references where !reference.isExact {
            let target = entities[reference.target]
            for (column, key) in zip(reference.columns, target.key) where checked.contains(column) {
                let collation = target.columns[key].collation
                if collation == .binary { continue }
                found.append(SpelledReference(column: column, collation: collation))
            }
        }
        return found
    }
}
