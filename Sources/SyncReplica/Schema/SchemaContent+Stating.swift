import SyncMerge
import SyncStorage

extension SchemaContent {
    /// What a replica states when it has changed its schema before it had all of the store's: that
    /// of the store with what it has changed itself.
    /// - Parameters:
    ///   - theirs: the schema of the store.
    ///   - base: the marks of this one, before it changed.
    /// - Complexity: O(bytes of the schemas)
    func stated(with theirs: SchemaContent, since base: SchemaMarks) -> SchemaContent {
        let changed = Set(changed(since: base))
        let own = joined(with: theirs) { changed.contains($0) }
        return own.merged(with: theirs, since: base).translated(from: own, theirs)
            .knowingDrops(of: [self, theirs])
    }

    /// This schema and an older one that was stated at the same time, as one.
    /// - Parameter base: the marks of a schema that both have seen; empty: none is known.
    /// - Complexity: O(bytes of the schemas)
    func stated(over older: SchemaContent, since base: SchemaMarks) -> SchemaContent {
        let changed = Set(changed(since: base))
        let others = Set(older.changed(since: base).map { SQLName.folded($0.name) })
        let newer = joined(with: older) {
            changed.contains($0) && others.contains(SQLName.folded($0.name))
        }
        return older.merged(under: newer, since: base).translated(from: older, newer)
            .knowingDrops(of: [older, newer])
    }
}
