import SyncValues

/// What facts call an entity or a column: its *identity*. Names change, identities do not
/// (docs/merge-design.md, *Renames*).
///
/// The first name that it had, and from its second generation on U+0001 and the number of the
/// generation: the first one is taken by an entity or column that has another name by now, or was
/// dropped. A first name that has U+0001 itself always has a number, so that no two identities are
/// one text. Compared like names: ASCII letters in either case are equal.
package enum SchemaIdentity {
    private static let separator: Character = "\u{1}"

    /// The identity of a generation, counted from 1, of a first name.
    package static func text(_ first: String, generation: Int = 1) -> String {
        generation == 1 && !first.contains(separator)
            ? first : "\(first)\(separator)\(generation)"
    }

    /// The first name of an identity, for people: what it is called here is known elsewhere.
    package static func title(_ identity: String) -> String {
        guard let place = identity.lastIndex(of: separator) else { return identity }
        return String(identity[..<place])
    }

    /// The identity of the lowest generation of a name that is not taken.
    /// - Parameter isTaken: asked with folded identities.
    package static func free(_ first: String, isTaken: (String) -> Bool) -> String {
        var generation = 1
        while true {
            let identity = text(first, generation: generation)
            if !isTaken(Collation.lowercased(identity)) { return identity }
            generation += 1
        }
    }
}
