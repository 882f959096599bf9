import SyncValues

/// What a replica stated of its schema, together with a transaction of its own.
///
/// Revisions order what replicas state: one that changes its schema takes the revision after the
/// newest that it knows.
package struct SchemaRecord: Sendable, Hashable {
    /// A revision is at most this.
    package static let revisionMax: Int64 = 1 << 31 - 1

    /// The replica, and the transaction that the statement is sent with. Number 0: from before its
    /// first one, sent with snapshots alone.
    package var dot: Dot
    /// Above each that its replica knew.
    package var revision: Int64
    /// When it was stated, milliseconds since 1970.
    package var time: Int64
    /// The schema.
    package var content: SchemaContent

    /// Describes a statement.
    package init(_ dot: Dot, revision: Int64, time: Int64, content: SchemaContent) {
        self.dot = dot
        self.revision = revision
        self.time = time
        self.content = content
    }

    /// Whether it is older than another one: of two equal revisions the later one counts.
    package func isOlder(than other: SchemaRecord) -> Bool {
        (revision, time, dot.replica) < (other.revision, other.time, other.dot.replica)
    }
}

extension Sequence<SchemaRecord> {
    /// The newest of what replicas state: the schema of the store.
    package var newest: SchemaRecord? { self.max { $0.isOlder(than: $1) } }
}
