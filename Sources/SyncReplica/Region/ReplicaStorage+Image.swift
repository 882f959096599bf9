import SyncMerge

extension ReplicaStorage {
    /// The rows that a view of a region shows, with private numbers that are free in the whole
    /// store.
    /// - Parameter hints: the private numbers that objects have at the sender of a batch.
    /// - Throws: `internalFault` when two rows have one key; `refused` when a table has no free
    ///   number; SQLite errors.
    /// - Complexity: O(rows of the view)
    func image(
        of view: View, in region: AffectedRegion, hints: [ObjectUID: Int64] = [:]
    ) throws -> TableImage {
        let image = try draft(of: view, in: region, hints: hints)
        try image.requireOneRowForEachKey()
        return image
    }

    /// The same, where two rows may have one key.
    /// - Parameter isLeaving: whether an object of the region is deleted from now on: its number
    ///   is free for a row that has it at the sender.
    /// - Throws: `refused` when a table has no free number; SQLite errors.
    /// - Complexity: O(rows of the view)
    func draft(
        of view: View, in region: AffectedRegion, hints: [ObjectUID: Int64],
        isLeaving: @escaping (ObjectUID) -> Bool = { _ in false }
    ) throws -> TableImage {
        try TableImage(
            of: view, schema: schema.merge, before: region.names,
            numbering: numbering(in: region, hints: hints, isLeaving),
            isBoundary: region.state.boundaryRows.contains, storedRow: region.row(of:),
            formerKey: { self.formerKey(of: $0, part: $1, in: region) },
            stored: schema.stored)
    }

    /// A value of the key of an object, as it was last stated, or the private number that is
    /// reserved for it; nil where it is not one plain value, or another row has the number.
    private func formerKey(of uid: ObjectUID, part: Int, in region: AffectedRegion) -> Value? {
        guard let record = region.state.objects[uid] else { return nil }
        let entity = schema.merge.entities[record.entity]
        if entity.isPrivate { return region.objects[uid]?.number.map(Value.integer) }
        guard entity.key.indices.contains(part),
            let cell = entity.cellOfColumn[entity.key[part]],
            let place = entity.cells[cell].firstIndex(of: entity.key[part]),
            record.cells.indices.contains(cell), record.cells[cell].count == 1,
            case .value(let value) = record.cells[cell][0].value[place]
        else { return nil }
        return value
    }

    private func numbering(
        in region: AffectedRegion, hints: [ObjectUID: Int64],
        _ isLeaving: @escaping (ObjectUID) -> Bool
    ) -> TableImage.Numbering {
        func isGivenAgain(_ entity: Int) -> Bool { !schema.tables[entity].isAutoincrement }
        return TableImage.Numbering(
            known: { region.objects[$0]?.number },
            hint: { hints[$0] },
            isTaken: { entity, number, uid in
                let key = RowKey(entity: entity, [.integer(number)])
                if let holder = try self.objects.uid(of: key) {
                    return holder != uid && !(isGivenAgain(entity) && isLeaving(holder))
                }
                let holder = try self.objects.holder(ofNumber: number, entity: entity)
                return holder.map { $0.uid != uid && !($0.isGone && isGivenAgain(entity)) }
                    ?? false
            },
            greatest: self.greatestNumber)
    }
}
