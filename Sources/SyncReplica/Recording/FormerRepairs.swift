import SyncMerge
import SyncStorage
import SyncValues

/// What the tables show because of constraints that the schema had until now.
///
/// A repair is never stated: it goes when its cause goes. So where a migration has changed the
/// constraints, rows that are repaired are no writer's work, and are shown again by the new ones:
/// compared with the new view they would look like deletes and updates of this replica.
///
/// Only rows that were unresolved when they were last shown are concerned, and of these only what
/// nobody has written since: the log has writes, and a value that no fact has is a write, too.
struct FormerRepairs {
    private let region: AffectedRegion
    private let image: TableImage
    /// The values that facts of unresolved objects have, by entity.
    private let stated: [Int: Set<Value>]
    /// What unresolved objects may have shown in cells whose versions become one value.
    private let blended: [Place: Set<Value>]

    private struct Place: Hashable {
        let entity: Int
        let cell: Int
    }

    /// - Parameters:
    ///   - region: all objects and rows, as they are stored.
    ///   - image: what the present schema shows of them.
    init(in region: AffectedRegion, image: TableImage) {
        self.region = region
        self.image = image
        var stated: [Int: Set<Value>] = [:]
        for object in region.objects.values where object.state == .unresolved {
            for field in object.record.cells.joined().flatMap(\.value) {
                if case .value(let value) = field {
                    stated[object.record.entity, default: []].insert(value)
                }
            }
        }
        self.stated = stated
        blended = Self.blendedValues(in: region)
    }

    private static func blendedValues(in region: AffectedRegion) -> [Place: Set<Value>] {
        var values: [Place: Set<Value>] = [:]
        for object in region.objects.values where object.state == .unresolved {
            let entity = object.record.entity
            let policies = region.state.schema.entities[entity].policies
            for (cell, policy) in policies.enumerated() where policy.isBlending {
                values[Place(entity: entity, cell: cell), default: []]
                    .formUnion(region.state.blendedValues(ofCell: cell, in: object.record))
            }
        }
        return values
    }

    /// Whether a row is or was shown for an object that was unresolved.
    func concern(_ key: RowKey) -> Bool {
        [region.names[key], image.names[key]].contains { $0.map(isRepaired) ?? false }
    }

    private func isRepaired(_ uid: ObjectUID) -> Bool {
        region.objects[uid]?.state == .unresolved
    }

    /// The columns of a row that is shown before and after, of some that differ, whose value no
    /// fact explains: somebody wrote it. A row may have shown values of several objects.
    func written(_ columns: [Int], of row: [Value], at key: RowKey) -> [Int] {
        let entity = region.state.schema.entities[key.entity]
        return columns.filter { column in
            guard let cell = entity.cells.firstIndex(where: { $0.contains(column) }),
                cell != entity.numberCell, row[column] != .null,
                !entity.references.contains(where: { $0.columns.contains(column) }),
                !Self.isMadeUp(row[column])
            else { return false }
            guard entity.policies[cell].isBlending else {
                return !stated[key.entity, default: []].contains(row[column])
            }
            let place = Place(entity: key.entity, cell: cell)
            return !blended[place, default: []].contains(row[column])
        }
    }

    /// Whether a value has the ending that a row gets which loses its UNIQUE value.
    private static func isMadeUp(_ value: Value) -> Bool {
        guard case .text(let text) = value else { return false }
        let ending = text.suffix(9)
        return ending.first == "~" && ending.count == 9
            && ending.dropFirst().allSatisfy(\.isHexDigit)
    }

    /// The region with the values that the present schema shows in the rows of unresolved objects,
    /// but for those that were written since. Keys stay: rows that were written refer to them.
    /// - Parameter written: the keys of rows that the log has.
    /// - Complexity: O(rows of the region)
    func undone(besides written: Set<RowKey>) -> AffectedRegion {
        var shown: [ObjectUID: [Value]] = [:]
        for (key, name) in image.names where isRepaired(name) { shown[name] = image.rows[key] }
        var region = region
        for (key, name) in self.region.names where !written.contains(key) {
            guard let row = self.region.rows[key], var values = shown[name] else { continue }
            for column in region.state.schema.entities[key.entity].key {
                values[column] = row[column]
            }
            region.rows[key] = values
        }
        return region
    }
}
