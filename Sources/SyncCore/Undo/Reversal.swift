import SyncStorage
import SyncValues

/// Takes the changes of one transaction back, newest first, within the transaction of a writer.
///
/// What cannot be done yet waits for the rest: an inserted object to which another one of the
/// transaction still refers, a key or a unique value that another object still has. Passes over
/// what waits go on as long as one of them does something; each does at least one step, so that
/// there are at most as many as changes.
struct Reversal {
    /// What is undone by one statement.
    private enum Item {
        case change(Change)
        /// A key that was changed: the delete of the old one and the insert of the new one.
        case renumbering(old: Change, new: Change)
    }

    private static let columnIsGone = "the column no longer exists"

    private let store: Store
    private let transaction: Transaction
    private let writer: UndoWriter
    /// The names of the objects that it inserted.
    private let inserted: Set<String>
    /// The names of all objects that it changed.
    private let changed: Set<String>
    /// What was done to them since.
    private let later: [ObjectName: [Store.LaterChange]]

    /// - Throws: when the history cannot be read.
    init(_ transaction: Transaction, writer: UndoWriter, in store: Store) throws {
        self.store = store
        inserted = Set(
            transaction.changes.filter { $0.kind == .insert }.map { writer.name(of: $0.object) })
        changed = Set(transaction.changes.map { writer.name(of: $0.object) })
        later = try store.laterChanges(
            of: Set(transaction.changes.map { ObjectName(foldedNameOf: $0.object) }),
            after: transaction)
        self.transaction = transaction
        self.writer = writer
    }

    /// - Throws: `refused` for a constraint that does not allow the result.
    /// - Complexity: O(changes); where many wait for each other, O(changes²).
    func run() throws -> UndoReport {
        var report = UndoReport()
        var rest = items()
        while !rest.isEmpty {
            var waiting: [Item] = []
            var obstacle: (error: SyncError, item: Item)?
            for item in rest {
                do {
                    if try !undo(item, into: &report) { waiting.append(item) }
                } catch let error as SyncError where error.code == .refused && writer.isOpen {
                    waiting.append(item)
                    obstacle = obstacle ?? (error, item)
                }
            }
            guard waiting.count == rest.count else {
                rest = waiting
                continue
            }
            let parts = try waiting.flatMap(parts)
            if parts.count > waiting.count {
                rest = parts
                continue
            }
            if let obstacle {
                throw explained(obstacle.error, of: obstacle.item, after: report)
            }
            try deleteTogether(waiting, into: &report)
            break
        }
        return report
    }

    /// A constraint that refuses the result, with the object, and with one that stays as it is:
    /// that may be what is in the way.
    private func explained(
        _ error: SyncError, of item: Item, after report: UndoReport
    ) -> SyncError {
        let object =
            switch item {
            case .change(let change): change.object
            case .renumbering(_, let new): new.object
            }
        var explained = error
        explained.reason = "\(writer.name(of: object)) cannot be what it was: \(error.reason)"
        if let refusal = report.refusals.first {
            explained.reason +=
                "; \(writer.name(of: refusal.object)) stays as it is: \(refusal.reason)"
                + (refusal.blockedBy.map { ", by transaction \($0)" } ?? "")
        }
        return explained
    }

    /// The newest first; a changed key is where the later of its two changes is.
    private func items() -> [Item] {
        struct Renumbering: Hashable {
            let entity: String
            let old: ObjectKey
            let new: ObjectKey
        }
        var deletes: [Renumbering: [Change]] = [:]
        for change in transaction.changes where change.kind == .delete {
            guard case .renumbered(let new) = change.cause else { continue }
            let name = Renumbering(entity: change.entity, old: change.object.key, new: new.key)
            deletes[name, default: []].append(change)
        }
        var pairs: [Int64: Item] = [:]
        var paired: Set<Int64> = []
        for change in transaction.changes.reversed() where change.kind == .insert {
            guard case .renumbered(let old) = change.cause else { continue }
            let name = Renumbering(entity: change.entity, old: old.key, new: change.object.key)
            guard let delete = deletes[name]?.popLast() else { continue }
            pairs[max(delete.seq, change.seq)] = .renumbering(old: delete, new: change)
            paired.formUnion([delete.seq, change.seq])
        }
        return transaction.changes.reversed().compactMap { change in
            pairs[change.seq] ?? (paired.contains(change.seq) ? nil : .change(change))
        }
    }

    /// Keys that were exchanged: none of the objects can be renumbered first.
    private func parts(_ item: Item) throws -> [Item] {
        guard case .renumbering(let old, let new) = item,
            try writer.exists(in: try writer.table(old.entity), key: old.object.key)
        else { return [item] }
        return [.change(new), .change(old)]
    }

    private func laterChanges(of object: ObjectID) -> [Store.LaterChange] {
        later[ObjectName(foldedNameOf: object)] ?? []
    }

    // MARK: One item

    /// - Returns: false when it has to wait; nothing was done then.
    private func undo(_ item: Item, into report: inout UndoReport) throws -> Bool {
        switch item {
        case .renumbering(let old, let new):
            return try undoRenumbering(from: old, to: new, into: &report)
        case .change(let change):
            if try hasToWait(change) { return false }
            var part = UndoReport()
            try undo(change, into: &part)
            report.append(part)
            return true
        }
    }

    /// Another change of the transaction may have to be undone first.
    private func hasToWait(_ change: Change) throws -> Bool {
        switch change.kind {
        case .insert: return try writer.referrer(to: change) != nil
        case .delete:
            guard inserted.contains(writer.name(of: change.object)) else { return false }
            return try writer.exists(in: writer.table(change.entity), key: change.object.key)
        case .update: return false
        }
    }

    private func undo(_ change: Change, into report: inout UndoReport) throws {
        let table = try writer.table(change.entity)
        let later = laterChanges(of: change.object)
        func refuse(_ reason: String, by number: Int64? = nil) {
            report.refuse(change.object, because: reason, by: number)
        }
        switch change.kind {
        case .insert:
            if let blocker = later.first {
                return refuse("it was changed again", by: blocker.number)
            }
            guard try writer.exists(in: table, key: change.object.key) else {
                return refuse("it does not exist")
            }
            try writer.delete(from: table, key: change.object.key)
            report.steps.append(.init(kind: .delete, object: change.object, properties: []))
        case .delete:
            guard try !writer.exists(in: table, key: change.object.key) else {
                return refuse("its key is in use again", by: later.first?.number)
            }
            guard let (values, gone) = change.wholeTombstone(for: table) else {
                return refuse("not all of its values were kept")
            }
            if !gone.isEmpty {
                report.refuse(change.object, properties: gone, because: Self.columnIsGone)
            }
            let lost = change.properties.filter { change.oldValues?[$0] == nil }
            if !lost.isEmpty {
                report.refuse(
                    change.object, properties: lost,
                    because:
                        "it has the value that it was deleted with: the one before was not kept")
            }
            try writer.insert(into: table, values: values.overwritten(by: change.oldValues))
            report.steps.append(.init(kind: .insert, object: change.object, properties: []))
        case .update:
            try undoUpdate(change, in: table, after: later, into: &report)
        }
    }

    private func undoUpdate(
        _ change: Change, in table: TableSchema, after later: [Store.LaterChange],
        into report: inout UndoReport
    ) throws {
        let old = change.oldValues ?? NamedValues([])
        let lost = change.properties.filter { old[$0] == nil }
        if !lost.isEmpty {
            let isKept = try store.keepsOldValues(of: change.entity)
            report.refuse(
                change.object, properties: lost,
                because: isKept
                    ? "its old values are not in the history: they were purged, or not kept then"
                    : "old values of \(change.entity) were not kept; to keep them from now on: "
                        + "synctool track DB --undo \(Shell.quoted(change.entity))")
        }
        guard lost.count < change.properties.count else { return }
        let isThere = try writer.exists(in: table, key: change.object.key)
        guard isThere || later.contains(where: { $0.change.kind == .delete }) else {
            return report.refuse(
                change.object, properties: change.properties,
                because: "it does not exist")
        }
        var restored: [NamedValues.Pair] = []
        for pair in old.pairs {
            let blocker = later.first {
                $0.change.kind != .update || $0.change.properties.contains(pair.name)
            }
            if let blocker {
                report.refuse(
                    change.object, properties: [pair.name],
                    because: blocker.change.kind == .delete
                        ? "it was deleted" : "it was changed again",
                    by: blocker.number)
            } else if table.column(pair.name) == nil {
                report.refuse(
                    change.object, properties: [pair.name],
                    because: Self.columnIsGone)
            } else {
                restored.append(pair)
            }
        }
        guard !restored.isEmpty else { return }
        try writer.update(in: table, key: change.object.key, values: NamedValues(restored))
        report.steps.append(
            .init(kind: .update, object: change.object, properties: restored.map(\.name)))
    }

    /// Gives an object its old key back, and its old values. What refers to it follows, where the
    /// schema says `ON UPDATE CASCADE`, as it did when the key was changed.
    private func undoRenumbering(
        from old: Change, to new: Change, into report: inout UndoReport
    ) throws -> Bool {
        let table = try writer.table(new.entity)
        if let blocker = laterChanges(of: new.object).first {
            report.refuse(new.object, because: "it was changed again", by: blocker.number)
            return true
        }
        guard let (values, gone) = old.wholeTombstone(for: table) else {
            report.refuse(old.object, because: "not all of its values were kept")
            return true
        }
        let former = try writer.row(in: table, key: old.object.key)
        let present = try writer.row(in: table, key: new.object.key)
        if former != nil, former != present {
            // It has followed the object that it refers to; else another object has the key.
            guard present == nil, !report.steps.isEmpty else { return false }
        } else if try writer.referrer(to: new, acting: \.onUpdate) != nil {
            return false
        }
        guard let row = present ?? former else {
            report.refuse(new.object, because: "it does not exist")
            return true
        }
        if present != nil, let stranger = try stranger(among: writer.followers(of: new)) {
            report.refuse(
                new.object,
                because: "\(stranger.entity)/\(stranger.key) would follow it, which referred to "
                    + "this key before")
            return true
        }
        let changed = values.pairs.filter { row[$0.name] != $0.value }
        if !changed.isEmpty {
            try writer.update(
                in: table, key: present == nil ? old.object.key : new.object.key,
                values: NamedValues(changed))
        }
        if !gone.isEmpty {
            report.refuse(old.object, properties: gone, because: Self.columnIsGone)
        }
        report.steps.append(.init(kind: .delete, object: new.object, properties: []))
        report.steps.append(.init(kind: .insert, object: old.object, properties: []))
        return true
    }

    /// One of the objects that neither the transaction nor a later one has changed: it referred to
    /// an object that was missing then, as a writer that does not enforce foreign keys may leave
    /// it.
    private func stranger(among followers: [ObjectName]) throws -> ObjectName? {
        try followers.first { follower in
            guard !changed.contains("\(follower.entity)/\(follower.key)") else { return false }
            return try store.laterChanges(of: [follower.folded], after: transaction).isEmpty
        }
    }

    // MARK: What refers to each other

    /// Deletes inserted objects to which only each other refer, and refuses the others.
    private func deleteTogether(_ items: [Item], into report: inout UndoReport) throws {
        var group: [Change] = []
        var others: [Change] = []
        for item in items {
            switch item {
            case .change(let change) where change.kind == .insert: group.append(change)
            case .change(let change): others.append(change)
            case .renumbering(_, let new):
                let referrer = try writer.referrer(to: new, acting: \.onUpdate)
                report.refuse(new.object, because: "\(referrer ?? "an object") refers to it")
            }
        }
        while true {
            let names = Set(group.map { writer.name(of: $0.object) })
            guard let (index, referrer) = try outsider(in: group, names: names) else { break }
            report.refuse(group.remove(at: index).object, because: "\(referrer) refers to it")
        }
        var isFirst = true
        for change in group {
            // One of them may have been deleted along with another.
            let table = try writer.table(change.entity)
            if try isFirst || writer.exists(in: table, key: change.object.key) {
                try undo(change, into: &report)
            } else {
                report.steps.append(.init(kind: .delete, object: change.object, properties: []))
            }
            isFirst = false
        }
        for change in others { try undo(change, into: &report) }
    }
}

extension Reversal {
    /// The first of the objects to which another one refers, and that one.
    private func outsider(
        in group: [Change], names: Set<String>
    ) throws -> (index: Int, referrer: String)? {
        for (index, change) in group.enumerated() {
            let referrers = try writer.referrers(to: change, max: group.count + 1)
            if let found = referrers.first(where: { !names.contains($0) }) { return (index, found) }
        }
        return nil
    }
}

extension UndoReport {
    fileprivate mutating func refuse(
        _ object: ObjectID, properties: [String] = [], because reason: String,
        by number: Int64? = nil
    ) {
        refusals.append(
            .init(object: object, properties: properties, reason: reason, blockedBy: number))
    }

    fileprivate mutating func append(_ part: UndoReport) {
        steps += part.steps
        refusals += part.refusals
    }
}
