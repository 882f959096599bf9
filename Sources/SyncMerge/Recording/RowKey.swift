import SyncValues

/// The key of a row in the tables.
package struct RowKey: Sendable, Hashable {
    /// Position of the entity in the schema.
    package let entity: Int
    /// The key, in key order.
    package let values: [Value]

    /// Makes a key.
    package init(entity: Int, _ values: [Value]) {
        self.entity = entity
        self.values = values
    }
}
