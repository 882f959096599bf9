/// The part of a store's base that a merge or a local transaction can change, with how it stands in
/// the tables.
///
/// Invariants: `base` holds the record of every identity in `objects`, and the header of every
/// transaction by which their facts have to be compared; `names` has every row of the region, and
/// names the identity that the row is shown under.
struct Region {
    /// What was stated.
    var base: Base
    /// How each object is stored.
    var objects: [ObjectUID: StoredObject] = [:]
    /// The identity of each row of the tables, by its key.
    var names: [RowKey: ObjectUID] = [:]
    /// The rows around it that only stand there: shown as they were stated, whatever happens here.
    var anchors: Set<ObjectUID> = []

    init(base: Base, objects: [ObjectUID: StoredObject]) {
        self.base = base
        self.objects = objects
        for (uid, object) in objects {
            guard let key = object.key else { continue }
            names[RowKey(entity: object.record.entity, key)] = uid
        }
    }
}
