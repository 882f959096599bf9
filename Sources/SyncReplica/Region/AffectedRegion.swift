import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The part of a store's state that a merge or a local transaction can change, with the rows that
/// show it.
///
/// Invariants
/// - `state` holds the record of every identity in `objects`, and the header of every transaction
///   by which their facts have to be compared.
/// - `names` has each row of the region, with the identity that it is shown under; `rows` what it
///   holds, where it is there.
/// - An object is in it with all that it is aliased with. Every object unresolved is in it.
/// - `state.boundaryRows` are rows around it that only stand there: shown as they were stated. What
///   they refer to need not be in the region, but for what their keys are made of.
struct AffectedRegion {
    /// What was stated.
    var state: MergeState
    /// How each object is stored.
    var objects: [ObjectUID: StoredObject] = [:]
    /// The identity of each row of the tables, by its key.
    var names: [RowKey: ObjectUID] = [:]
    /// The rows, by their key.
    var rows: [RowKey: [Value]] = [:]

    /// Knows nothing but what has been merged.
    init(_ schema: MergeSchema, vector: VersionVector) {
        state = MergeState(
            schema: schema, vector: vector, headers: [], objects: [:], aliases: [:])
    }

    /// The row that an object names, as it stands in the tables.
    func row(of uid: ObjectUID) -> [Value]? {
        guard let object = objects[uid], let key = object.key else { return nil }
        return rows[RowKey(entity: object.record.entity, key)]
    }
}
