import SyncStorage
import SyncValues

/// An object that two positions in history differ in.
public struct ObjectDifference: Sendable, Hashable {
    /// The object's name.
    public let object: ObjectName
    /// As it was at the first position.
    public let before: PastObject
    /// As it was at the second position.
    public let after: PastObject

    /// The properties with other values, or whose values are not known at one of the positions.
    public var properties: [String] {
        let names = (after.isPresent ? after : before).columns
        return names.filter { name in
            guard let old = before.values[name], let new = after.values[name] else { return true }
            return old != new
        }
    }
}

/// The objects that two positions in history differ in.
public struct HistoryDifference: Sendable, Hashable {
    /// In the order in which they were first changed.
    public package(set) var objects: [ObjectDifference] = []
    /// Changed entities whose tables are gone or not tracked any more.
    public package(set) var untracked: [String] = []
}

extension Store {
    /// What changed between two positions: the net difference, whatever happened in between.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`.
    /// - Complexity: O(changes between them, and of their objects since); memory too.
    public func difference(from: Token, to: Token) throws -> HistoryDifference {
        try explaining("diff") {
            try consistentRead(naming: .now) { reader, scan in
                try TokenCheck(reader, identity: identity).check(from)
                try TokenCheck(reader, identity: identity).check(to)
                var result = HistoryDifference()
                var past = PastRows(reader)
                var names: [ObjectName] = []
                var query = HistoryQuery()
                (query.after, query.upTo) = (from, to)
                try scan.run(query) { transaction in
                    for change in transaction.changes {
                        let name = ObjectName(entity: change.entity, key: change.object.key)
                        guard !result.untracked.contains(name.entity) else { continue }
                        if try !past.isTracked(name) {
                            result.untracked.append(name.entity)
                        } else if try past.begin(name) {
                            names.append(name)
                        }
                    }
                    return true
                }
                let after = try past.takenBack(to: to, by: scan)
                let before = try past.takenBack(to: from, by: scan)
                for name in names {
                    let difference = ObjectDifference(
                        object: name, before: Self.exactly(name, before(name)),
                        after: Self.exactly(name, after(name)))
                    let isThere = difference.before.isPresent || difference.after.isPresent
                    if isThere, !difference.isEmpty { result.objects.append(difference) }
                }
                return result
            }
        }
    }

    /// Not the object whose key is the same only by the collation of its columns: that one is
    /// another name in history.
    private static func exactly(_ name: ObjectName, _ past: PastObject) -> PastObject {
        let isOther = zip(past.key, name.key.values).contains { $0 != $1 && mayCollate($0, $1) }
        return isOther ? PastObject(isPresent: false) : past
    }

    /// A key of other columns, as the table had before it was rebuilt, is no such text.
    private static func mayCollate(_ left: Value?, _ right: Value) -> Bool {
        guard case .text(let left)? = left, case .text(let right) = right else { return false }
        func folded(_ text: String) -> String {
            var folded = SQLName.folded(text)
            while folded.last == " " { folded.removeLast() }
            return folded
        }
        return folded(left) == folded(right)
    }
}

extension ObjectDifference {
    fileprivate var isEmpty: Bool { before.isPresent == after.isPresent && properties.isEmpty }
}

extension PastObject {
    /// The names of its properties, known values first.
    fileprivate var columns: [String] { values.pairs.map(\.name) + unknown }
}
