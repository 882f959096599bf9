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
        for object in objects { marks[Self.key(object)] = Self.mark(Self.encoded(object)) }
        var writer = ByteWriter()
        writer.append(signed: settings.userVersion)
        writer.append(signed: settings.applicationID)
        marks[Self.settingsKey] = Self.mark(writer.bytes)
        return marks
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
        var merged: [SchemaObject] = []
        var known: Set<String> = []
        for object in theirs.objects {
            let key = Self.key(object)
            known.insert(key)
            if !isOurs(key) {
                merged.append(object)
            } else if let own = own[key] {
                merged.append(own)
            }
        }
        merged += objects.filter { !known.contains(Self.key($0)) && isOurs(Self.key($0)) }
        var settings = settings
        if !isOurs(Self.settingsKey) {
            settings.userVersion = theirs.settings.userVersion
            settings.applicationID = theirs.settings.applicationID
        }
        return SchemaContent(merged, settings: settings, sequences: sequences)
    }
}
