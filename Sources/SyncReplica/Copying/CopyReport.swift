/// What a new replica has of the store's schema beside the tables that it began with.
package struct CopyReport: Sendable {
    /// What is not made, with the reasons. It stays part of the store's schema.
    package let refused: [RefusedObject]
    /// Whether the store's schema is known. If not, whether views, triggers or other tables are
    /// missing is unknown until a replica states its schema: the store does not sign, something in
    /// it was renamed, or an earlier version made the snapshot.
    package let isSchemaKnown: Bool
    /// How the schema of the new replica differs from that of the store, where that is known: after
    /// renames a replica begins with the tables of the snapshot.
    package let comparison: SchemaComparison?
}
