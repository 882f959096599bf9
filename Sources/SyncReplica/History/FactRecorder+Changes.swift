import SyncCore
import SyncMerge

extension FactRecorder {
    /// The facts as history shows them: one change for each object.
    /// - Complexity: O(facts)
    var changes: [Batch.Change] {
        var order: [ObjectUID] = []
        var changes: [ObjectUID: Batch.Change] = [:]
        for fact in facts {
            switch fact {
            case .alias: continue
            case .life(let uid, let entity, let life):
                if changes[uid] == nil { order.append(uid) }
                let kind: Batch.Change.Kind
                switch life.kind {
                case .created: kind = .insert
                case .deleted: kind = .delete
                case .revived: kind = .update
                }
                changes[uid] = Batch.Change(uid, entity: entity, kind: kind)
            case .cell(let uid, let entity, let cell, _):
                if changes[uid] == nil {
                    order.append(uid)
                    changes[uid] = Batch.Change(uid, entity: entity, kind: .update)
                }
                if changes[uid]?.kind == .update { changes[uid]?.cells.append(cell) }
            }
        }
        return order.compactMap { uid in
            guard var change = changes[uid] else { return nil }
            change.cells = change.kind == .update ? Set(change.cells).sorted() : []
            return change
        }
    }
}
