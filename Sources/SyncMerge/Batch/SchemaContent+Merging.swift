import Crypto
import SyncValues

/// What a schema was, by object: so much as later tells whether one has changed.
package typealias SchemaMarks = [String: String]

extension SchemaContent {
    private static let settingsKey = "settings"
    private static let markBytes = 12

    /// The marks of the objects and settings.
    /// - Complexity: O(bytes of the schema)
    package var marks: SchemaMarks {
        var marks: SchemaMarks = [:]
        for object in objects {
            var writer = ByteWriter()
            writer.append(raw: Self.encoded(object))
            // The same text with another identity is another table.
            if object.isTracked, let named = names?.first(where: { $0.isNamed(object.name) }) {
                NameColumns.write([named], to: &writer)
            }
            marks[Self.key(object)] = Self.mark(writer.bytes)
        }
        var writer = ByteWriter()
        writer.append(signed: settings.userVersion)
        writer.append(signed: settings.applicationID)
        marks[Self.settingsKey] = Self.mark(writer.bytes)
        return marks
    }

    /// The objects that are not as marks say.
    /// - Complexity: O(bytes of the schema)
    package func changed(since base: SchemaMarks) -> [SchemaObject] {
        let marks = marks
        return objects.filter { marks[Self.key($0)] != base[Self.key($0)] }
    }

    private static func mark(_ bytes: [UInt8]) -> String {
        Hex.encode(SHA256.hash(data: bytes).prefix(markBytes))
    }

    private static func key(_ object: SchemaObject) -> String {
        "\(object.kind.rawValue) \(Collation.lowercased(object.name))"
    }

    /// This schema with what has not changed since `base` as another one has it: a replica that
    /// changes its schema before it has all of the store's takes nothing of that back.
    /// - Parameters:
    ///   - theirs: the other schema.
    ///   - base: the marks of this one, before it changed.
    /// - Complexity: O(bytes of the schemas)
    package func merged(with theirs: SchemaContent, since base: SchemaMarks) -> SchemaContent {
        let marks = marks
        func isOurs(_ key: String) -> Bool { marks[key] != base[key] }
        var own: [String: SchemaObject] = [:]
        for object in objects { own[Self.key(object)] = object }
        let changed = objects.filter { isOurs(Self.key($0)) }
        let ownIdentities = Set(changed.filter(\.isTracked).map { names.identity(of: $0.name) })
        var merged: [SchemaObject] = []
        var known: Set<String> = []
        var foreign: [SchemaObject] = []
        for object in theirs.objects {
            let key = Self.key(object)
            known.insert(key)
            if !isOurs(key) {
                // A table that both renamed has the name that was given last.
                let isRenamed =
                    object.isTracked
                    && ownIdentities.contains(theirs.names.identity(of: object.name))
                if isRenamed { continue }
                merged.append(object)
                foreign.append(object)
            } else if let own = own[key] {
                merged.append(own)
            }
        }
        merged += changed.filter { !known.contains(Self.key($0)) }
        var settings = settings
        if !isOurs(Self.settingsKey) {
            settings.userVersion = theirs.settings.userVersion
            settings.applicationID = theirs.settings.applicationID
        }
        return SchemaContent(
            merged, settings: settings, sequences: sequences,
            names: names.map { Self.merged($0, with: theirs.names ?? [], tables: foreign) })
    }

    /// This schema and a newer one that was stated at the same time: the newer one, with what this
    /// one alone has changed. The same two give the same, with the same base.
    /// - Parameter base: the marks of a schema that both have seen; empty: none is known, and
    ///   nothing was dropped by one of them.
    /// - Complexity: O(bytes of the schemas)
    package func merged(under newer: SchemaContent, since base: SchemaMarks) -> SchemaContent {
        let (own, theirs) = (marks, newer.marks)
        var since = base
        for key in Set(theirs.keys).union(base.keys) where theirs[key] != base[key] {
            since[key] = own[key]
        }
        // A table that both changed may have two names.
        let changed = Set(
            newer.objects.filter { $0.isTracked && theirs[Self.key($0)] != base[Self.key($0)] }
                .map { newer.names.identity(of: $0.name) })
        for object in objects where object.isTracked {
            let identity = names.identity(of: object.name)
            let isDropped = base.isEmpty && newer.hasDropped(nil, of: identity)
            if changed.contains(identity) || isDropped {
                since[Self.key(object)] = own[Self.key(object)]
            }
        }
        var merged = merged(with: newer, since: since)
        merged.sequences = newer.sequences
        if names == nil { merged.names = newer.names }
        return merged
    }

    /// The names of a merged schema.
    /// - Parameter tables: those that the other schema has given.
    private static func merged(
        _ names: [EntityNames], with theirs: [EntityNames], tables: [SchemaObject]
    ) -> [EntityNames] {
        let given = Set(
            tables.filter(\.isTracked).map { Optional(theirs).identity(of: $0.name) })
        var merged = names.filter { !given.contains(Collation.lowercased($0.entity)) }
        let known = Set(merged.map { Collation.lowercased($0.entity) })
        merged += theirs.filter { !known.contains(Collation.lowercased($0.entity)) }
        return merged
    }
}

extension EntityNames {
    /// Whether the table is called so.
    fileprivate func isNamed(_ table: String) -> Bool {
        name.map { Collation.lowercased($0) == Collation.lowercased(table) } ?? false
    }
}

extension [EntityNames]? {
    /// The folded identity of a table: its name where the names say nothing of it.
    fileprivate func identity(of table: String) -> String {
        Collation.lowercased(self?.first { $0.isNamed(table) }?.entity ?? table)
    }
}

extension SchemaContent {
    /// Whether the schema says that an entity, or a column of it, was dropped; false where it does
    /// not know it.
    package func hasDropped(_ column: String?, of entity: String) -> Bool {
        let folded = Collation.lowercased(entity)
        let named = names?.first { Collation.lowercased($0.entity) == folded }
        guard let named else { return false }
        let isHere = objects.contains { $0.isTracked && named.isNamed($0.name) }
        guard isHere, let column else { return !isHere }
        return named.columns.contains {
            Collation.lowercased($0.key) == Collation.lowercased(column) && $0.value == nil
        }
    }
}
