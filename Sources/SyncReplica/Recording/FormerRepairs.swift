import Crypto
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

/// The schema by which the tables show the facts.
struct ShownStructure {
    private let settings: Metadata
    /// Of the statements with identities in place of names: a rename repairs and shows nothing.
    private let hash: String
    /// Of the statements as they are, which earlier versions stored.
    private let plainHash: String

    init(_ storage: ReplicaStorage) {
        settings = storage.history.settings
        let names = storage.schema.names
        hash = Self.hash(storage.structure.map { Self.identified($0, by: names) })
        plainHash = Self.hash(storage.structure)
    }

    private static func hash(_ statements: [String]) -> String {
        SHA256.hash(data: Array(statements.joined(separator: "\u{0}").utf8)).prefix(16)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// A statement with the identities of its table and columns, and of the tables that it names.
    private static func identified(_ sql: String, by names: SchemaNames) -> String {
        var table: String?
        let words = SQLTokens(sql).tokens.map { token -> String in
            if token.text.hasPrefix("'") { return token.text }
            let word = SQLName.unquoted(token.text)
            if let table {
                let column = names.identity(ofColumn: word, table: table)
                if column != word { return SQLName.folded(column) }
            }
            if table == nil, names.hasTable(word) { table = word }
            return SQLName.folded(names.identity(ofTable: word))
        }
        return words.joined(separator: " ")
    }

    /// Whether the tables were last shown by another schema. A store that does not know is taken
    /// for shown by this one.
    /// - Throws: SQLite errors.
    func isNew() throws -> Bool {
        let stored = try settings.value(.shown)
        return stored != .null && stored != .text(hash) && stored != .text(plainHash)
    }

    /// The tables show the facts by this schema now.
    /// - Throws: SQLite errors.
    func store() throws {
        if try settings.value(.shown) != .text(hash) { try settings.set(.shown, to: .text(hash)) }
    }
}
