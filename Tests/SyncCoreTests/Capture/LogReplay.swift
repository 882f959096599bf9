@testable import SyncCore
@testable import SyncValues

/// What a transaction did to each object of one table, told from its log entries alone, and
/// compared with the table before and after.
struct LogReplay {
    struct Mismatch: Error, CustomStringConvertible {
        var description: String
    }

    typealias Rows = [[Value]: [Value]]

    private struct Object {
        var isLive: Bool
        var existed: Bool
        /// Removed and put back by REPLACE or by a delete: any column may differ.
        var isRewritten = false
        var changed: Set<Int> = []
        var events = 0
        var keptAtDelete: [Int: Value]?
        var old: [Int: Value] = [:]
    }

    let layout: CaptureLayout

    func check(_ entries: [LogEntry], before: Rows, after: Rows) throws {
        var objects: [[Value]: Object] = [:]
        for key in before.keys { objects[key] = Object(isLive: true, existed: true) }
        for (index, entry) in entries.enumerated() {
            try apply(entry, rest: entries.dropFirst(index + 1), &objects)
        }
        for (key, object) in objects {
            guard object.isLive == (after[key] != nil) else {
                throw Mismatch(description: "\(key): log says live \(object.isLive), it is not so")
            }
            try compare(key, object, before[key], after[key])
        }
        for key in after.keys where objects[key] == nil {
            throw Mismatch(description: "\(key): inserted without a log row")
        }
    }

    private func apply(
        _ entry: LogEntry, rest: ArraySlice<LogEntry>, _ objects: inout [[Value]: Object]
    ) throws {
        var object = objects[entry.key] ?? Object(isLive: false, existed: false)
        object.events += 1
        switch entry.kind {
        case .insert:
            if object.isLive {
                throw Mismatch(description: "\(entry.key): insert of a live object, \(entry)")
            }
            object.isLive = true
            if object.existed { object.isRewritten = true }
        case .update:
            // An AFTER trigger, or ON UPDATE CASCADE of a row that refers to itself, updates the new
            // row before its insert is logged.
            let isInserted = rest.contains { $0.kind == .insert && $0.key == entry.key }
            guard object.isLive || isInserted else {
                throw Mismatch(description: "\(entry.key): update of no object, \(entry)")
            }
            object.changed.formUnion(entry.changed)
            for (position, value) in entry.old where object.old[position] == nil {
                object.old[position] = value
            }
        case .delete, .replace:
            // A row that refers to itself by ON UPDATE CASCADE is updated after its key has changed
            // and before that is logged: an earlier row of the guard may then take it for gone. A
            // reader ignores the delete of an object that does not exist (store-format.md, 1.3).
            let next = rest.first
            let isKeyChange = next?.kind == .renumber && next?.key == entry.key
            guard object.isLive || isKeyChange else {
                throw Mismatch(description: "\(entry.key): deleted twice, \(entry)")
            }
            let isBack = rest.contains { $0.kind == .insert && $0.key == entry.key }
            if entry.isSameKey, !isBack {
                throw Mismatch(description: "\(entry.key): replaced, but no insert follows")
            }
            object.isLive = false
            if object.keptAtDelete == nil { object.keptAtDelete = entry.kept }
        case .renumber:
            guard rest.first?.kind == .insert, rest.first?.key == entry.newKey else {
                throw Mismatch(description: "\(entry.key): renumbered, but no insert follows")
            }
        case .deleting:
            guard object.isLive else {
                throw Mismatch(description: "\(entry.key): delete of no object, \(entry)")
            }
            object.events -= 1
        case .marker, .continued: break
        }
        objects[entry.key] = object
    }

    private func compare(
        _ key: [Value], _ object: Object, _ before: [Value]?, _ after: [Value]?
    ) throws {
        if let before, let kept = object.keptAtDelete {
            guard Set(kept.keys) == Set(layout.kept) else {
                throw Mismatch(description: "\(key): kept \(kept.keys)")
            }
            for (position, value) in kept
            where value != before[position] && !object.changed.contains(position)
                && !object.isRewritten
            {
                throw Mismatch(description: "\(key): kept \(value), was \(before[position])")
            }
        }
        guard let before, let after, !object.isRewritten else { return }
        let differing = Set(before.indices.filter { before[$0] != after[$0] })
        guard differing.isSubset(of: object.changed) else {
            throw Mismatch(
                description: "\(key): \(differing) differ, the log has \(object.changed)")
        }
        if object.events == 1, differing != object.changed {
            throw Mismatch(
                description: "\(key): \(object.changed) in the log, \(differing) differ")
        }
        if layout.undo {
            for position in differing where object.old[position] != before[position] {
                throw Mismatch(
                    description: "\(key): old value \(String(describing: object.old[position]))")
            }
        }
    }
}
