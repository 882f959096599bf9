import Foundation
import SyncCore

// A context as the store of its children: they read its unsaved changes, and their saves become its
// unsaved changes.

extension ManagedObjectContext: ObjectSource {
    func rows(_ query: ObjectQuery) throws -> [StoredRow] {
        try gate.locked {
            try strict {
                if let keys = query.keys { return try rows(query, keys: keys) }
                return try fetch(BoundRequest(query: query, includesPending: true, batchSize: 0))
                    .compactMap(row)
            }
        }
    }

    private func rows(_ query: ObjectQuery, keys: [ManagedObjectKey]) throws -> [StoredRow] {
        var plain = query
        plain.keys = nil
        let origin = identities.origin(query.entity.root)
        var rows: [StoredRow] = []
        var unknown: [ManagedObjectKey] = []
        for key in keys {
            let id = identities.resolve(identities.id(in: origin, key: key))
            let known = registry[id]
            guard let object = known, object.current != nil else {
                unknown.append(key)
                continue
            }
            if object.phase == .live || object.phase == .inserted, matches(object, query: plain),
                let row = try row(object)
            {
                rows.append(row)
            }
        }
        guard !unknown.isEmpty else { return rows }
        var rest = query
        rest.keys = unknown
        return rows + (try source.rows(rest).compactMap { try row(object(for: $0)) })
    }

    private func row(_ object: ManagedObject) throws -> StoredRow? {
        if object.current == nil { try fulfill(object) }
        guard let values = object.current, object.phase != .gone else { return nil }
        return StoredRow(entity: object.entity, id: object.identity, values: values)
    }

    func ids(_ query: ObjectQuery) throws -> [ManagedObjectID] { try rows(query).map(\.id) }

    func count(_ query: ObjectQuery) throws -> Int { try rows(query).count }

    func pairs(
        _ join: JoinLayout, isSource: Bool, of key: Value
    ) throws -> [(key: Value, order: Value)] {
        try gate.locked {
            var pairs = try source.pairs(join, isSource: isSource, of: key)
            guard unsaved.hasJoinEdits else { return pairs }
            let edit = unsaved.joinEdit(of: join)
            let pair = { (other: Value) in
                isSource
                    ? SaveRequest.Pair(source: key, target: other)
                    : SaveRequest.Pair(source: other, target: key)
            }
            pairs.removeAll {
                edit.removed.contains(pair($0.key)) || edit.added[pair($0.key)] != nil
            }
            for (added, order) in edit.added where (isSource ? added.source : added.target) == key {
                pairs.append(
                    (isSource ? added.target : added.source, isSource ? order.target : order.source)
                )
            }
            return pairs
        }
    }

    func add(_ listener: any ChangeListener) { addChild(listener) }

    func save(_ request: SaveRequest, saver: (any ChangeListener)?) throws -> SaveResult {
        try performAndWait {
            let conflicts =
                try request.updates.compactMap(conflict)
                + request.deletes.compactMap(conflict)
            guard conflicts.isEmpty else { throw SaveConflicts(conflicts: conflicts) }
            var change = SavedChange()
            for item in request.inserts {
                let object = take(item)
                if let row = try row(object) { change.inserted.append(row) }
            }
            for item in request.updates {
                guard let object = try held(item.id, entity: item.entity) else { continue }
                for slot in item.new.indices where item.new[slot] != item.old[slot] {
                    _ = try object.setSlot(slot, to: item.new[slot])
                }
                if let row = try row(object) { change.updated.append(row) }
            }
            for item in request.deletes {
                guard let object = try held(item.id, entity: item.entity) else { continue }
                try delete(object)
                change.deleted.append(DeletedObject(id: item.id, gone: Gone(item.cause)))
            }
            for edit in request.joins {
                var own = unsaved.joinEdit(of: edit.join)
                if undoLog != nil { try notePairs(of: edit, before: own) }
                for (pair, order) in edit.added {
                    own.added[pair] = order
                    own.removed.remove(pair)
                }
                for pair in edit.removed where own.added.removeValue(forKey: pair) == nil {
                    own.removed.insert(pair)
                }
                unsaved.setJoinEdit(own)
                change.joinTables.insert(edit.join.table)
                dropMembers()
            }
            saver?.didSave(change)
            notifyChildren(.saved(change), except: saver)
            return SaveResult(saved: change)
        }
    }

    /// Records a child's save of a join table, so that it can be undone here.
    private func notePairs(
        of edit: SaveRequest.JoinEdit, before own: SaveRequest.JoinEdit
    ) throws {
        var changes: [SaveRequest.Pair: UndoLog.PairsEntry.Change] = [:]
        for pair in edit.removed.union(edit.added.keys) {
            let stored = try pairs(edit.join, isSource: true, of: pair.source)
                .first { $0.key == pair.target }
            let old = stored.map { own.added[pair] ?? .init(target: $0.order) }
            changes[pair] = .init(old: old, new: edit.added[pair])
        }
        undoLog?.note(.pairs(.init(former: own, saves: unsaved.saveCount, changes: changes)))
    }

    private func held(_ id: ManagedObjectID, entity: EntityLayout) throws -> ManagedObject? {
        let object = registry[id] ?? fault(id, entity: entity)
        if object.current == nil { try fulfill(object) }
        return object.phase == .gone ? nil : object
    }

    private func take(_ item: SaveRequest.Insert) -> ManagedObject {
        let object = objectClass(item.entity).init(
            ObjectSeed(
                entity: item.entity, id: item.id, gate: gate, values: item.values,
                phase: .inserted))
        registry.insert(object)
        hold(object)
        touched.inserted.insert(item.id)
        undoLog?.note(.insert(object))
        dropMembers()
        return object
    }

    private func conflict(_ item: SaveRequest.Update) throws -> SaveConflict? {
        guard let object = try held(item.id, entity: item.entity), object.phase != .deletePending,
            let row = try row(object)
        else { return SaveConflict(id: item.id, kind: .deleted) }
        return row.values == item.old ? nil : SaveConflict(id: item.id, kind: .changed(stored: row))
    }

    private func conflict(_ item: SaveRequest.Delete) throws -> SaveConflict? {
        guard let object = try held(item.id, entity: item.entity), object.phase != .deletePending,
            let row = try row(object)
        else { return nil }
        return row.values == item.old
            ? nil : SaveConflict(id: item.id, kind: .deleteOfChanged(stored: row))
    }
}
