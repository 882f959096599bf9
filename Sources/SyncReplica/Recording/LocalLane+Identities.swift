import SyncMerge
import SyncValues

/// The identities of rows, and of what they refer to.
extension LocalLane {
    /// The identity of the object of a row.
    func identity(of row: Int, depth: Int) throws -> ObjectUID {
        if let known = uids[row] { return known }
        let key = writes.key(of: row)
        guard let birth = writes.birth(of: row), !writes.isRecreated(row) else {
            guard let uid = try targets.uid(of: key) else { throw LocalLaneReason.incomplete }
            return uid
        }
        let uid = try newIdentity(of: key, birth: birth, depth: depth)
        uids[row] = uid
        return uid
    }

    func newIdentity(of key: RowKey, birth: ObjectBirth, depth: Int) throws -> ObjectUID {
        guard let entity = objects.entities[key.entity], depth < Self.depthMax else {
            throw LocalLaneReason.entity
        }
        if entity.isPrivate { return recording.uid(of: key, birth: birth) }
        var fields = key.values.map(Field.value)
        for reference in entity.references {
            let places = reference.columns.compactMap(entity.key.firstIndex)
            guard places.count == reference.columns.count else { continue }
            let uid = try target(
                storage.schema.merge.key(reference.target, places.map { key.values[$0] }),
                depth: depth + 1)
            for (part, place) in places.enumerated() {
                fields[place] = .reference(uid, part: part)
            }
        }
        return NaturalIdentity.uid(
            of: storage.schema.merge.entities[key.entity], key: fields, generation: 0)
    }

    /// The object of the row that a reference names.
    func target(_ key: RowKey, depth: Int) throws -> ObjectUID {
        let uid: ObjectUID
        if let row = writes.row(at: key), !writes.isVanished(row) {
            uid = try identity(of: row, depth: depth)
        } else if let known = try targets.uid(of: key) {
            uid = known
        } else {
            throw LocalLaneReason.reference
        }
        guard !surroundings.objects.contains(uid) else { throw LocalLaneReason.trouble }
        return uid
    }
}
