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
    /// - Complexity: O(changes between them), and for each object O(its changes since).
    public func difference(from: Token, to: Token) throws -> HistoryDifference {
        var names: [ObjectName] = []
        var known: Set<ObjectName> = []
        var query = HistoryQuery()
        (query.after, query.upTo) = (from, to)
        for change in try presentHistory(query).flatMap(\.changes) {
            let name = ObjectName(entity: change.entity, key: change.object.key)
            if known.insert(name.folded).inserted { names.append(name) }
        }
        var result = HistoryDifference()
        for name in names where !result.untracked.contains(name.entity) {
            do {
                let difference = ObjectDifference(
                    object: name, before: try present(name, asOf: from),
                    after: try present(name, asOf: to))
                let isSame = !difference.before.isPresent && !difference.after.isPresent
                if !isSame, !difference.isEmpty { result.objects.append(difference) }
            } catch let error as SyncError where error.code == .unknownEntity {
                result.untracked.append(name.entity)
            }
        }
        return result
    }

    /// As ``object(_:asOf:)``, but not the object whose key is the same only by the collation of
    /// its columns: that one is another name in history.
    private func present(_ name: ObjectName, asOf token: Token) throws -> PastObject {
        let past = try object(name, asOf: token)
        let isOther = zip(past.key, name.key.values).contains {
            $0 != $1 && Self.mayCollate($0, $1)
        }
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
