import SyncMerge
import SyncValues

/// The part of a store's state that a merge or a local transaction can change, with the rows that
/// show it.
///
/// Invariants
/// - `state` holds the record of every identity in `objects`, and the header of every transaction
///   by which their facts are compared.
/// - `names` has the identity of each row of the region; `rows` its values, where the row exists.
/// - An object is in the region with everything that it is aliased with. Every unresolved object
///   is in it.
/// - `state.boundaryRows` are rows around the region, shown as they were recorded. What they refer
///   to need not be in the region, except for what their keys refer to.
struct AffectedRegion {
    /// The facts.
    var state: MergeState
    /// How each object is stored.
    var objects: [ObjectUID: StoredObject] = [:]
    /// The identity of each row of the tables, by its key.
    var names: [RowKey: ObjectUID] = [:]
    /// The rows, by their key.
    var rows: [RowKey: [Value]] = [:]

    /// An empty region of a store that has merged `vector`.
    init(_ schema: MergeSchema, vector: VersionVector) {
        state = MergeState(
            schema: schema, vector: vector, headers: [], objects: [:], aliases: [:])
    }

    /// A key as it is stored, by which its object is found: where the row is gone, the view spells
    /// the references in it as the rows that they refer to are spelled now.
    func storedKey(of key: RowKey) -> RowKey {
        names.index(forKey: key).map { names[$0].key } ?? key
    }

    /// The rows that the tables showed when they were last recorded.
    /// - Complexity: O(objects of the region)
    var formerRows: FormerRows {
        FormerRows(
            shown: Set(names.values), plain: Set(objects.filter { $0.value.state == .plain }.keys))
    }

    /// The row of an object, as the tables have it; nil when it has none.
    func row(of uid: ObjectUID) -> [Value]? {
        guard let object = objects[uid], let key = object.key else { return nil }
        return rows[state.schema.key(object.record.entity, key)]
    }
}
